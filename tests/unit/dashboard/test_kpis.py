"""Key figures: unknown is a dash, few samples carry their count, change needs something to compare with."""

from typing import Any

from dashboard.pages.parts.kpis import Kpi, kpis
from ingest.read.values import LiveFigures, Quantiles

S = 10**9


def quantiles(count: int, p95_s: float | None) -> Quantiles:
    ns = None if p95_s is None else int(p95_s * S)
    return Quantiles(count=count, p50_ns=ns, p95_ns=ns, p99_ns=ns)


def figures(**given: Any) -> LiveFigures:
    nothing = quantiles(0, None)
    usual: dict[str, Any] = {
        "window_s": 300,
        "runs": 0,
        "failed_runs": 0,
        "wall": nothing,
        "ttft": nothing,
        "tpot": nothing,
        "queue": nothing,
        "tool_calls": 0,
        "tool_failures": 0,
        "input_tokens": 0,
        "cached_tokens": None,
    }
    return LiveFigures(**usual | given)


def shown(now: LiveFigures, before: LiveFigures) -> dict[str, Kpi]:
    return {k.name: k for k in kpis(now, before, 0, None)}


def test_without_runs_quantiles_and_rates_are_unknown_and_counts_zero() -> None:
    found = shown(figures(), figures())
    assert {name: str(k.value) for name, k in found.items()} == {
        "Runs": "0",
        "Wall": "–",
        "TTFT": "–",
        "TPOT": "–",
        "Cache hit": "–",
        "Tool failures": "–",
        "Errors": "–",
        "In flight": "0",
        "Queue": "–",
    }
    assert not any(k.change for k in found.values())


def test_a_quantile_of_few_samples_carries_their_count() -> None:
    found = shown(figures(wall=quantiles(7, 4.1), ttft=quantiles(20, 1)), figures())
    assert found["Wall"].note.endswith("7")
    assert found["TTFT"].note == ""


def test_a_slower_p95_is_worse_and_noise_is_not_a_change() -> None:
    before = figures(wall=quantiles(100, 2), ttft=quantiles(100, 1))
    found = shown(figures(wall=quantiles(100, 5.5), ttft=quantiles(100, 1.02)), before)
    assert found["Wall"].change
    assert (found["Wall"].change.text.replace("\u202f", " "), found["Wall"].change.tone) == ("▲ 3.50 s", "worse")
    assert found["TTFT"].change
    assert found["TTFT"].change.text == "≈ as an hour ago"


def test_a_falling_cache_hit_rate_is_worse() -> None:
    found = shown(figures(input_tokens=1000, cached_tokens=600), figures(input_tokens=1000, cached_tokens=700))
    assert found["Cache hit"].change
    assert (found["Cache hit"].change.text.replace("\u202f", " "), found["Cache hit"].change.tone) == (
        "▼ 10 points",
        "worse",
    )


def test_runs_are_told_by_the_minute_without_judgement() -> None:
    found = shown(figures(runs=188), figures(runs=100))
    assert str(found["Runs"].value) == "38"
    assert found["Runs"].change
    assert (found["Runs"].change.text, found["Runs"].change.tone) == ("▲ 18", "")


def test_an_unfinished_minute_more_is_no_rise() -> None:
    found = shown(figures(runs=110, window_s=330), figures(runs=100))
    assert str(found["Runs"].value) == "20"
    assert found["Runs"].change
    assert found["Runs"].change.text == "≈ as an hour ago"

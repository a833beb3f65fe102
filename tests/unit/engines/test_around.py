"""The engine's state around each call of the joined captures is the one that was written down when they were made."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.engines.around import Around, CallFacts, Moment, around
from tests.captures import DATA, read_json
from tests.unit.engines.recorded import joined_scrapes

FOLDERS = sorted(folder for folder in (DATA / "joined").iterdir() if (folder / "expected.json").exists())
GAP_NS = 30 * 10**9


def calls(folder: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """(expected, truth) of every attempt that has a state."""
    truth = read_json(folder / "truth.json")["calls"]
    return [
        (told, truth[told["call"]]) for told in read_json(folder / "expected.json")["calls"] if told.get("engine_state")
    ]


def facts(told: dict[str, Any], true: dict[str, Any]) -> CallFacts:
    start = true["request_sent_ns"]
    end = true.get("done_ns") or true.get("closed_ns")
    ttft = (told.get("engine") or {}).get("ttft_s")
    tokens = told.get("tokens") or {}
    return CallFacts(
        start_unix_ns=start, wall_ns=end - start, model="tiny-llama", input_tokens=tokens.get("prompt"),
        cached_tokens=tokens.get("cached"), ttft_ns=None if ttft is None else round(ttft * 1e9),
    )  # fmt: skip


def state(told: dict[str, Any], true: dict[str, Any]) -> Around:
    call = facts(told, true)
    return around([sample for _, sample in joined_scrapes()], call, GAP_NS)


def as_told(moment: Moment | None, start_ns: int) -> dict[str, Any] | None:
    if moment is None:
        return None
    return {
        "at_s": round((moment.at_unix_ns - start_ns) / 1e9, 3), "running": moment.running, "waiting": moment.waiting,
        "kv_usage": round(moment.kv_usage or 0, 4), "preemptions_total": moment.preemptions_total,
        "prefix_queries_total": moment.prefix_queries_total, "prefix_hits_total": moment.prefix_hits_total,
        "generation_tokens_total": moment.generation_tokens_total,
    }  # fmt: skip


def expected(told: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if told is None else {name: value for name, value in told.items() if name != "file"}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_is_the_state_that_was_written_down(folder: Any) -> None:
    for told, true in calls(folder):
        if not (true.get("done_ns") or true.get("closed_ns")):
            continue
        found, start = state(told, true), true["request_sent_ns"]
        assert as_told(found.before, start) == expected(told["engine_state"]["before"])
        assert [as_told(one, start) for one in found.during] == [expected(m) for m in told["engine_state"]["during"]]
        assert as_told(found.after, start) == expected(told["engine_state"]["after"])


def spoken(name: str) -> list[tuple[Around, dict[str, Any]]]:
    folder = DATA / "joined" / name
    return [(state(told, true), told) for told, true in calls(folder)]


def test_queueing_is_named_with_its_numbers() -> None:
    first, _ = spoken("otel-genai-http-queue")[0]
    assert first.words[0] == "queueing: 4 waiting, 4 running, KV cache 43 %"


def test_preemption_is_named() -> None:
    for found, _ in spoken("otel-genai-http-preemption"):
        assert found.preempted == 1
        assert found.words[0].startswith("preempting: 1 preempted, 1 waiting, 3 running")


def test_a_cold_cache_is_named_and_a_warm_one_is_not() -> None:
    cold, told = spoken("otel-genai-http-cold-prefix")[0]
    assert told["cache_state"] == "cold"
    assert f"cold cache: 0 of {told['tokens']['prompt']} prompt tokens were cached" in cold.words
    for found, told in spoken("otel-genai-http-warm-prefix"):
        assert told["cache_state"] == "warm"
        assert not [words for words in found.words if "cold cache" in words]


def test_a_call_alone_on_a_warm_engine_has_no_excuse() -> None:
    assert [found.words for found, _ in spoken("otel-genai-http-warm-prefix")] == [(), (), ()]

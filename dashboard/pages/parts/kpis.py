"""The key figures of the Live page: the value, what it rests on, and how it was an hour ago."""

from __future__ import annotations

from dataclasses import dataclass, field

from dashboard.figures import NOT_KNOWN, THIN, Figure, count, duration, percent, share_of
from ingest.read.values import LiveFigures, Quantiles

FEW = 20  # a quantile of fewer samples carries their count
NOISE = 0.03
FEW_EVENTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Against an hour ago. ``tone`` is "worse", "better" or empty where direction has no judgement."""

    text: str
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kpi:
    name: str
    of: str = ""
    value: Figure
    note: str = ""
    sides: list[tuple[str, Figure, str]] = field(default_factory=list)
    change: Change | None = None

    @property
    def key(self) -> str:
        """By which its line over time is found."""
        return self.name.lower().replace(" ", "_")

    @property
    def unknown(self) -> bool:
        return self.value == NOT_KNOWN


def kpis(now: LiveFigures, before: LiveFigures, in_flight: int, oldest_ns: int | None) -> list[Kpi]:
    """All key figures. ``in_flight`` counts runs, ``oldest_ns`` is the age of the one that is longest so."""
    return [
        _runs(now, before),
        _time("Wall", now.wall, before.wall),
        _time("TTFT", now.ttft, before.ttft),
        _time("TPOT", now.tpot, before.tpot),
        _time("Queue", now.queue, before.queue),
        _rate(
            "Cache hit",
            now.cached_tokens,
            now.input_tokens,
            "tokens",
            before.cached_tokens,
            before.input_tokens,
            more_is_worse=False,
        ),
        _rate(
            "Tool failures",
            now.tool_failures,
            now.tool_calls,
            "calls",
            before.tool_failures,
            before.tool_calls,
        ),
        _rate("Errors", now.failed_runs, now.runs, "runs", before.failed_runs, before.runs),
        Kpi(
            name="In flight",
            value=count(in_flight),
            sides=[("oldest", duration(oldest_ns), "")] if oldest_ns is not None else [],
        ),
    ]


def _runs(now: LiveFigures, before: LiveFigures) -> Kpi:
    rate = now.runs * 60 / now.window_s
    change = None
    if before.runs:
        expected = before.runs * now.window_s / before.window_s  # the windows may differ by less than a minute
        difference = (now.runs - expected) * 60 / now.window_s
        change = (
            Change(text=f"{_arrow(difference)} {_per_minute(abs(difference))}")
            if abs(now.runs - expected) > max(FEW_EVENTS, expected * NOISE)
            else ALIKE
        )
    return Kpi(
        name="Runs",
        of="per min",
        value=Figure(_per_minute(rate)),
        sides=[("in all", count(now.runs), "")],
        change=change,
    )


ALIKE = Change(text="≈ as an hour ago")


def _per_minute(rate: float) -> str:
    return f"{rate:.1f}" if 0 < rate < 9.95 else f"{rate:.0f}"


def _time(name: str, now: Quantiles, before: Quantiles) -> Kpi:
    if not now.count:
        return Kpi(name=name, of="p95", value=NOT_KNOWN)
    return Kpi(
        name=name,
        of="p95",
        value=duration(now.p95_ns),
        note=f"n{THIN}{now.count}" if now.count < FEW else "",
        sides=[("p50", duration(now.p50_ns), ""), ("p99", duration(now.p99_ns), "")],
        change=_time_change(now, before),
    )


def _time_change(now: Quantiles, before: Quantiles) -> Change | None:
    if not before.p95_ns or now.p95_ns is None or before.count < FEW_EVENTS:
        return None
    difference = now.p95_ns - before.p95_ns
    if abs(difference) < before.p95_ns * NOISE or now.count < FEW_EVENTS:
        return ALIKE
    return Change(
        text=f"{_arrow(difference)} {duration(abs(difference))}", tone="worse" if difference > 0 else "better"
    )


def _rate(
    name: str,
    part: int | None,
    whole: int,
    of: str,
    part_before: int | None,
    whole_before: int,
    *,
    more_is_worse: bool = True,
) -> Kpi:
    share, share_before = share_of(part, whole), share_of(part_before, whole_before)
    change = None
    if share is not None and share_before is not None:
        points = (share - share_before) * 100
        # A single event in a short window is not yet a change.
        quiet = abs(points) < NOISE * 100 * max(share_before, 0.1) or abs((part or 0) - (part_before or 0)) < FEW_EVENTS
        worse = (points > 0) == more_is_worse
        change = (
            ALIKE
            if quiet
            else Change(text=f"{_arrow(points)} {_points(abs(points))}", tone="worse" if worse else "better")
        )
    return Kpi(name=name, value=percent(share), sides=[("of", count(whole), of)] if whole else [], change=change)


def _points(points: float) -> str:
    return f"{points:.1f}{THIN}points" if points < 9.95 else f"{points:.0f}{THIN}points"


def _arrow(difference: float) -> str:
    return "▲" if difference > 0 else "▼"

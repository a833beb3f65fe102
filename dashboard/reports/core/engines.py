"""Engines week against week, by what they count themselves. Pure.

A change of such a figure is claimed only if it is beyond the noise, as any (``noise``), and if the week's figure lies
beyond that of every single day of the week before: requests at an engine wait together, so they vary less in an hour
than from day to day, and an interval over requests alone would be too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dashboard.reports.core.noise import CLAIM_Z, FEW, FEW_EVENTS, LEAST_CHANGE, LEAST_POINTS, Z95, Change
from ingest.engines.differences import Buckets
from ingest.engines.windows import Window, finished, hit_rate

LEAST_DAYS = 3  # of the week before, to know how its days vary
LEAST_OFTEN = 0.10  # of preemptions
A_THOUSAND, NS = 1_000, 1_000_000_000
WHOLE_SHARE = 0.95  # of a week's time that was observed, for nothing to be said of it
TIMES = (("queue", "Queue"), ("ttft", "Time to first token"))
PER_TOKEN = (("tpot", "Time per output token"), ("itl", "Time between tokens"))
METRICS = (
    *(name for name, _ in (*TIMES, *PER_TOKEN)), "prefix_hits", "prefix_queries", "prefix_misses", "prompt_length",
    "preemptions", "finished", "e2e",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineTold:
    """What an engine counted in both weeks, and in the days of the week before."""

    id: int
    name: str
    before: Window
    after: Window
    days: list[Window]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineFigure:
    """``name`` is queue, ttft, tpot, itl (means, in ns), hit_rate (a share) or preemptions (a request)."""

    name: str
    label: str
    change: Change

    @property
    def is_time(self) -> bool:
        return self.name not in ("hit_rate", "preemptions")

    @property
    def worse(self) -> bool:
        """Claimed, and to the bad."""
        return self.change.fell if self.name == "hit_rate" else self.change.rose


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRow:
    """One engine's own figures in both weeks; what it never told is not among them. ``before_requests`` are those that
    finished, ``before_observed`` is which share of the week somebody scraped it."""

    id: int
    name: str
    before_requests: int | None
    after_requests: int | None
    before_observed: float
    after_observed: float
    figures: list[EngineFigure] = field(default_factory=list)

    @property
    def claimed(self) -> list[EngineFigure]:
        """What went farthest first."""
        found = [figure for figure in self.figures if figure.change.claimed]
        return sorted(found, key=lambda figure: -abs(_far(figure.change)))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineWeeks:
    """All engines of a project, those that changed most first; how many more there are than are looked at; and what is
    not known any more, if anything."""

    rows: list[EngineRow] = field(default_factory=list)
    left_off: int = 0
    note: str = ""

    @property
    def changed(self) -> list[EngineRow]:
        return [row for row in self.rows if row.claimed]


def compare_engines(told: Sequence[EngineTold], before_ns: int, after_ns: int) -> list[EngineRow]:
    """Those that changed most first. The last are how long the weeks are, as far as they are over."""
    rows = [
        EngineRow(
            id=one.id, name=one.name, before_requests=_requests(one.before), after_requests=_requests(one.after),
            before_observed=one.before.seconds * NS / before_ns, after_observed=one.after.seconds * NS / after_ns,
            figures=list(_figures(one)),
        )
        for one in told
    ]  # fmt: skip
    return sorted(rows, key=lambda row: (-_weight(row), row.name))


def _weight(row: EngineRow) -> float:
    """How far its figures went, of those that are claimed."""
    return max((abs(_far(figure.change)) for figure in row.claimed), default=0.0)


def _far(change: Change) -> float:
    return change.relative if change.relative is not None else 1.0


def _requests(told: Window) -> int | None:
    count = finished(told)
    return None if count is None else round(count)


def _figures(told: EngineTold) -> Iterator[EngineFigure]:
    """A time per token by the name that the engine has for it."""
    per_token = next((one for one in PER_TOKEN if told.after.histogram(one[0]) or told.before.histogram(one[0])), None)
    for name, label in (*TIMES, *([per_token] if per_token else [])):
        change = _mean_change(told, name)
        if change.before is not None or change.after is not None:
            yield EngineFigure(name=name, label=label, change=change)
    for name, label, made in (
        ("hit_rate", "Prefix cache hits", _hits_change(told)),
        ("preemptions", "Preemptions a thousand requests", _preemptions_change(told)),
    ):
        if made.before is not None or made.after is not None:
            yield EngineFigure(name=name, label=label, change=made)


def _mean_change(told: EngineTold, metric: str) -> Change:
    both = [week.histogram(metric) for week in (told.before, told.after)]
    means, errors = [_mean_ns(one) for one in both], [_error_ns(one) for one in both]
    counts = [round(one.count) if one else 0 for one in both]
    days = [_mean_ns(day.histogram(metric)) for day in told.days]
    return _change(means, counts, errors, days, least=LEAST_CHANGE * (means[0] or 0))


def _hits_change(told: EngineTold) -> Change:
    """Tokens of one prompt come from the cache together, so what counts is the number of prompts; the longer some are
    than others, the fewer they are worth (Kish 1965, 11.7)."""
    weeks = told.before, told.after
    shares = [hit_rate(week) for week in weeks]
    prompts = [week.histogram("prompt_length") for week in weeks]
    counts = [round(one.count) if one else 0 for one in prompts]
    errors = [
        math.sqrt(share * (1 - share) * (1 + _uneven(one)) / one.count)
        if share is not None and 0 <= share <= 1 and one is not None and one.count else math.inf
        for share, one in zip(shares, prompts, strict=True)
    ]  # fmt: skip
    return _change(shares, counts, errors, [hit_rate(day) for day in told.days], least=LEAST_POINTS)


def _preemptions_change(told: EngineTold) -> Change:
    """Of a request. Counts of events, whose deviation is their root."""
    weeks = told.before, told.after
    rates, events = [_preempted(week) for week in weeks], [week.total("preemptions") for week in weeks]
    counts = [round(week.total("finished") or 0) for week in weeks]
    errors = [math.sqrt(e) / n if e is not None and n else math.inf for e, n in zip(events, counts, strict=True)]
    least = math.inf if max(e or 0 for e in events) < FEW_EVENTS else LEAST_OFTEN * (rates[0] or 0)
    return _change(rates, counts, errors, [_preempted(day) for day in told.days], least=least)


def _preempted(told: Window) -> float | None:
    events, requests = told.total("preemptions"), told.total("finished")
    return events / requests if events is not None and requests else None


def _change(
    both: Sequence[float | None], counts: Sequence[int], errors: Sequence[float], days: Sequence[float | None],
    least: float,
) -> Change:  # fmt: skip
    was, now = both
    error = math.hypot(*errors)
    known = [day for day in days if day is not None]
    claimed = False
    if was is not None and now is not None and min(counts) >= FEW and len(known) >= LEAST_DAYS:
        beyond = now > max(known) if now > was else now < min(known)
        claimed = beyond and abs(now - was) >= least and abs(now - was) > CLAIM_Z * error
    told = was is not None and now is not None and error < math.inf
    return Change(
        before=was, after=now, before_count=counts[0], after_count=counts[1],
        low=(now or 0) - (was or 0) - Z95 * error if told else None,
        high=(now or 0) - (was or 0) + Z95 * error if told else None, claimed=claimed,
    )  # fmt: skip


def _mean_ns(buckets: Buckets | None) -> float | None:
    return None if buckets is None or buckets.mean is None else buckets.mean * NS


def _error_ns(buckets: Buckets | None) -> float:
    """The standard error of the mean, as far as buckets tell: each value stands in the middle of its own."""
    if buckets is None or not buckets.counts or buckets.count < 1 or buckets.mean is None:
        return math.inf
    return math.sqrt(_square(buckets) / buckets.count) * NS


def _uneven(buckets: Buckets) -> float:
    """The squared deviation as a share of the squared mean."""
    return _square(buckets) / buckets.mean**2 if buckets.counts and buckets.mean else math.inf


def _square(buckets: Buckets) -> float:
    """The mean squared distance from the mean. Above the last bound a value is taken for twice that."""
    low = below = total = 0.0
    for bound, count in zip(buckets.bounds, buckets.counts, strict=True):
        middle = 2 * low if math.isinf(bound) else (low + bound) / 2
        total += (count - below) * (middle - (buckets.mean or 0.0)) ** 2
        low, below = bound, count
    return total / buckets.count

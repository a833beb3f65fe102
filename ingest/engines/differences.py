"""What happened between two samples: differences of counters and of histograms' buckets.

A restart begins at nought again: what is counted since then is the difference, never a negative number. Where only some
counters fell, nobody knows what they count, and nothing is said of them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from ingest.engines.layout import Key, Layout, Slot
from ingest.engines.names import Type
from ingest.frozen import Frozen

SECOND_NS = 1_000_000_000
CLOCK_S = 1.0  # process start times are rounded differently by some servers


class Sample(Frozen, frozen=True, kw_only=True):
    """One scrape, as of ``at_unix_ns`` (when the page had been read, by our clock)."""

    at_unix_ns: int
    layout: Layout
    values: Sequence[float]

    def value(self, slot: Slot) -> float | None:
        told = self.values[slot.at]
        return told if told == told else None


class Buckets(Frozen, frozen=True, kw_only=True):
    """A histogram's difference: ``counts`` are cumulative by ``bounds``, empty where the page left buckets out."""

    bounds: tuple[float, ...]
    counts: tuple[float, ...]
    sum: float
    count: float

    @property
    def mean(self) -> float | None:
        return self.sum / self.count if self.count else None

    def __add__(self, other: Buckets) -> Buckets:
        """Of the same metric. Where their bounds differ only sum and count stay known."""
        same = self.bounds == other.bounds
        return Buckets(
            bounds=self.bounds if same else (),
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)) if same else (),
            sum=self.sum + other.sum,
            count=self.count + other.count,
        )


class Difference(Frozen, frozen=True, kw_only=True):
    """``seconds`` is the time in which it happened; ``reset`` says that the server began anew in between."""

    seconds: float
    counts: dict[Key, float]
    histograms: dict[Key, Buckets]
    reset: bool = False


def difference(
    before: Sample, after: Sample, metrics: Collection[str] | None = None, *, unbroken: bool = False
) -> Difference:
    """What was counted between two samples of one target, of all metrics or of some. ``unbroken`` says that somebody
    has looked at all samples between the two, and nothing was reset."""
    reset = not unbroken and is_reset(before, after)
    counts: dict[Key, float] = {}
    histograms: dict[Key, Buckets] = {}
    for slot, was in _pairs(before, after):
        kind = slot.metric.type
        if kind is Type.GAUGE or (metrics is not None and slot.key.metric not in metrics):
            continue
        if kind is Type.COUNTER:
            count = _grown(0.0 if reset else _at(before, was), after.values[slot.at])
            if count is not None:
                counts[slot.key] = count
        elif (told := _buckets(before, None if reset else was, after, slot, since_start=reset)) is not None:
            histograms[slot.key] = told
    return Difference(seconds=_seconds(before, after, reset=reset), counts=counts, histograms=histograms, reset=reset)


def is_reset(before: Sample, after: Sample) -> bool:
    """Whether the server began anew between the two: by its process's start time, else if most counters fell."""
    started = [_only(sample, "process_start") for sample in (before, after)]
    if started[0] is not None and started[1] is not None:
        return started[1] > started[0] + CLOCK_S
    had = fell = 0
    for slot, was in _pairs(before, after):
        if was is None or slot.metric.type is Type.GAUGE:
            continue
        last = slot.width - 1  # a histogram's count
        old, new = before.values[was.at + was.width - 1], after.values[slot.at + last]
        if old > 0 and new == new:
            had, fell = had + 1, fell + (new < old)
    return fell * 2 > had or (had > 0 and fell * 2 == had)


def process_start_s(sample: Sample) -> float | None:
    return _only(sample, "process_start")


def _only(sample: Sample, metric: str) -> float | None:
    return next((v for slot in sample.layout.slots_of(metric) if (v := sample.value(slot)) is not None), None)


def _seconds(before: Sample, after: Sample, *, reset: bool) -> float:
    """After a restart only the time since, where the server tells it: nothing was counted before."""
    seconds = (after.at_unix_ns - before.at_unix_ns) / SECOND_NS
    started = process_start_s(after) if reset else None
    if started is not None and 0 < after.at_unix_ns / SECOND_NS - started < seconds:
        return after.at_unix_ns / SECOND_NS - started
    return seconds


def _pairs(before: Sample, after: Sample) -> Iterator[tuple[Slot, Slot | None]]:
    """Each of the later sample's slots, and where the earlier one had the same."""
    if before.layout.digest == after.layout.digest:
        yield from ((slot, slot) for slot in after.layout.slots)
        return
    had = {slot.key: slot for slot in before.layout.slots}
    yield from ((slot, had.get(slot.key)) for slot in after.layout.slots)


def _at(sample: Sample, slot: Slot | None) -> float:
    return math.nan if slot is None else sample.values[slot.at]


def _grown(was: float, now: float) -> float | None:
    """None where either is unknown, or where a counter fell of which nobody knows why."""
    grown = now - was
    return grown if grown >= 0 else None  # NaN is not either


def _buckets(before: Sample, was: Slot | None, after: Sample, slot: Slot, *, since_start: bool) -> Buckets | None:
    if was is None and not since_start:
        return None
    n = len(slot.bounds)
    now = after.values[slot.at : slot.at + slot.width]
    if since_start or was is None:
        old: Sequence[float] = [0.0] * slot.width
        same = True
    else:
        same = was.bounds == slot.bounds
        old = before.values[was.at : was.at + was.width]
    total = _grown(old[-2], now[-2])
    count = _grown(old[-1], now[-1])
    if total is None or count is None:
        return None
    counts = tuple(b - a for a, b in zip(old[:n], now[:n], strict=True)) if same else ()
    if any(not c >= 0 for c in counts) or any(b < a for a, b in pairwise(counts)):
        counts = ()  # what is no histogram has a sum and a count, but no quantiles
    return Buckets(bounds=slot.bounds if counts else (), counts=counts, sum=total, count=count)

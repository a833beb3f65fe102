"""What a figure is made of, in integers that add and subtract: so any window is the sum of its steps, exactly."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ingest.rollups.bins import midpoint, quantiles

from .measures import QUANTILES, Measure, Shape


@dataclass(slots=True)
class Tally:
    """``count`` items came; ``part`` of ``whole`` is a share's; ``bins`` and ``total`` are of a spread's values."""

    count: int = 0
    part: int = 0
    whole: int = 0
    total: int = 0
    bins: dict[int, int] = field(default_factory=dict)

    def add(self, other: Tally, sign: int = 1) -> None:
        self.count += sign * other.count
        self.part += sign * other.part
        self.whole += sign * other.whole
        self.total += sign * other.total
        bins = self.bins
        for index, count in other.bins.items():
            now = bins.get(index, 0) + sign * count
            if now:
                bins[index] = now
            else:  # nothing is left of it, or what was counted was taken back before anybody looked
                bins.pop(index, None)


@dataclass(frozen=True, slots=True)
class Reading:
    """A figure and over how many samples it is; None where there are none."""

    value: float | None = None
    samples: int = 0


def read_tally(tally: Tally, measure: Measure, stat: str, window_s: int) -> Reading:
    if measure.shape is Shape.COUNT:
        value = tally.count if stat == "count" else tally.count * 60 / window_s
        return Reading(float(value), tally.count)
    if measure.shape is Shape.SHARE:
        return Reading(tally.part / tally.whole if tally.whole else None, tally.count)
    samples = sum(tally.bins.values())
    if not samples:
        return Reading()
    if stat == "mean":
        return Reading(float(tally.total // samples), samples)
    found = quantiles(tally.bins, (QUANTILES[stat],))[0]
    return Reading(None if found is None else float(found), samples)


def good_of(tally: Tally, limit_ns: int | None) -> Tally:
    """The tally of an objective: ``part`` are the bad ones among ``whole``."""
    if limit_ns is None:
        return Tally(count=tally.count, part=tally.part, whole=tally.whole)
    whole = sum(tally.bins.values())
    return Tally(count=whole, part=whole - _up_to(tally.bins, limit_ns), whole=whole)


def _up_to(bins: Mapping[int, int], limit_ns: int) -> int:
    return sum(count for index, count in bins.items() if midpoint(index) <= limit_ns)


Step = tuple[int, int, Tally]  # from, to, what came in it


class Track:
    """Steps of time with their tallies, and windows over them that move forward cheaply."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps: Sequence[Step] = sorted(steps, key=lambda step: step[0])
        self._ends = [step[1] for step in self.steps]
        # By length and lane: the first step within, the first behind it, and their sum.
        self._windows: dict[tuple[int, int], tuple[int, int, Tally]] = {}

    def window(self, to_ns: int, length_ns: int, lane: int = 0) -> Tally:
        """What came from ``to_ns - length_ns`` to ``to_ns``, of whole steps. Each lane moves forward by itself."""
        first, last, tally = self._windows.get((length_ns, lane), (0, 0, Tally()))
        stop = bisect_right(self._ends, to_ns, lo=last if last and self._ends[last - 1] <= to_ns else 0)
        if stop < last:  # back in time: begin anew
            first, last, tally = 0, 0, Tally()
        for at in range(last, stop):
            tally.add(self.steps[at][2])
        start = first
        while start < stop and self.steps[start][0] < to_ns - length_ns:
            tally.add(self.steps[start][2], -1)
            start += 1
        self._windows[length_ns, lane] = (start, stop, tally)
        return tally

"""Four weeks of a service by the minute, with incidents that the rules are not told of. All from one seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from dashboard.alerts.core.tally import Step, Tally
from ingest.rollups.bins import GAMMA, LOG_GAMMA, count_bins

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
START = 1_740_960_000 * 10**9  # a Monday, 3 March 2025, in UTC
DAY = 1_440
MINUTES = 28 * DAY
APART, MOST_LASTING = 9 * 60, 180
EACH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """From one minute to another something is wrong with ``what``: a series of the simulation."""

    what: str
    first: int
    last: int

    def holds(self, minute: int) -> bool:
        return self.first <= minute < self.last


Lasting = tuple[int, int]  # minutes, at least and at most
KINDS: dict[str, Lasting] = {
    "slow shop": (20, 90), "slow desk": (20, 90), "failing tool": (30, 120), "failing runs": (42, 60),
    "no runs": (30, 90), "long runs": (60, MOST_LASTING),
}  # fmt: skip


def draw_incidents(chance: random.Random) -> list[Incident]:
    """Two of each kind, none near another nor near the same time of another week: then last week's figure is a sound
    one. Runs that are longer than last week need a week before."""
    found: list[Incident] = []
    for what, (least, most) in [*KINDS.items(), *KINDS.items()]:
        while True:
            first = chance.randrange(8 * DAY if what == "long runs" else 6 * 60, MINUTES - 8 * 60)
            if all(_distance(first, other.first) > APART for other in found):
                break
        found.append(Incident(what=what, first=first, last=first + chance.randint(least, most)))
    return sorted(found, key=lambda one: one.first)


def _distance(first: int, other: int) -> int:
    """Minutes apart, or apart on the clock of a week where they are weeks apart."""
    between = abs(first - other)
    return min(between % (7 * DAY), -between % (7 * DAY)) if between > DAY else between


def busy(minute: int) -> float:
    """How busy it is: fewer at night and at weekends."""
    day = minute // DAY % 7
    return (1.9 + math.sin((minute % DAY / DAY - 0.35) * 2 * math.pi)) * (0.8 if day > 4 else 1.0)


def draw_steps(chance: random.Random, incidents: list[Incident]) -> dict[str, list[Step]]:
    """The minutes of each series, as tallies; a minute in which nothing came has none."""
    by_what = {what: [one for one in incidents if one.what == what] for what in KINDS}

    def wrong(what: str, minute: int) -> bool:
        return any(one.holds(minute) for one in by_what[what])

    times = Times(chance)
    makers: dict[str, Callable[[int, float], Tally]] = {
        "shop": lambda m, b: times.minute(b * 8, 0.6e9 * (8 if wrong("slow shop", m) else 1)),
        "desk": lambda m, b: times.minute(b * 8, 0.8e9 * (7 if wrong("slow desk", m) else 1)),
        "tool": lambda _m, b: _failures(chance, b * 20, 0.3 if wrong("failing tool", _m) else 0.005),
        "runs": lambda m, b: Tally() if wrong("no runs", m) else _failures(
            chance, b * 20, 0.4 if wrong("failing runs", m) else 0.002
        ),
        "walls": lambda m, b: Tally() if wrong("no runs", m) else times.minute(
            b * 4, 9e9 * (1 + 0.4 * math.sin(m / DAY * 2 * math.pi)) * (2.5 if wrong("long runs", m) else 1)
        ),
    }  # fmt: skip
    series: dict[str, list[Step]] = {name: [] for name in makers}
    for minute in range(MINUTES):
        level, at = busy(minute), START + minute * MINUTE_NS
        for name, make in makers.items():
            tally = make(minute, level)
            if tally.count:
                series[name].append((at, at + MINUTE_NS, tally))
    return series


def _number(chance: random.Random, mean: float) -> int:
    return max(0, round(chance.gauss(mean, math.sqrt(mean))))


class Times:
    """Log-normal times about a median. A minute of so many is one of some hundred that are drawn about a second when
    they are first needed, and moved to the median by whole bins: drawing each of a million and a half times would be
    most of the test's work."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.minutes: dict[tuple[int, int], Tally] = {}

    def minute(self, mean: float, median_ns: float) -> Tally:
        kind = round(mean), self.chance.randrange(EACH)
        if kind not in self.minutes:
            self.minutes[kind] = self._drawn(kind[0])
        drawn, bins = self.minutes[kind], round(math.log(median_ns / SECOND_NS) / LOG_GAMMA)
        return Tally(
            count=drawn.count, total=round(drawn.total * GAMMA**bins),
            bins={at + bins: n for at, n in drawn.bins.items()},
        )  # fmt: skip

    def _drawn(self, mean: float) -> Tally:
        values = [round(SECOND_NS * self.chance.lognormvariate(0, 0.35)) for _ in range(_number(self.chance, mean))]
        return Tally(count=len(values), total=sum(values), bins=dict(count_bins(values)))


def _failures(chance: random.Random, mean: float, share: float) -> Tally:
    number = _number(chance, mean)
    return Tally(count=number, part=min(_few(chance, number * share), number), whole=number)


def _few(chance: random.Random, mean: float) -> int:
    """How many of many rare things happen (Poisson; Knuth's way)."""
    if mean > 12:
        return _number(chance, mean)
    number, left = 0, chance.random()
    while left > math.exp(-mean):
        number, left = number + 1, left * chance.random()
    return number

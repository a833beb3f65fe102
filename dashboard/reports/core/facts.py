"""Two weeks of one thing (all runs, a service, a tool), and what changed of it. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dashboard.reports.core.noise import (
    LEAST_CHANGE,
    Change,
    mean_change,
    quantile_change,
    share_change,
    weighted_share_change,
)
from ingest.packed import OWNERS
from ingest.read.figuring import Sums
from ingest.rollups.bins import Ordered
from ingest.rollups.counting import SHARE_ONE, Flag, Kind

OWNER_NAMES = tuple(owner.value for owner in OWNERS)
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
LEAST_FAILURES = 0.01  # of runs or calls: one point is worth a word


Binned = Mapping[Hashable, Sums]


@dataclass(frozen=True, slots=True)
class Weeks:
    """Two weeks' sums by place, and what changed under each, worked out once."""

    before: Binned
    after: Binned
    _facts: dict[Hashable, Facts] = field(default_factory=dict)

    def facts(self, place: Hashable) -> Facts:
        if place not in self._facts:
            before, after = (week.get(place) or Sums() for week in (self.before, self.after))
            self._facts[place] = Facts(repr(place), before, after)
        return self._facts[place]

    def places(self, *beginning: Hashable) -> list[tuple[Any, ...]]:
        """Those of either week that begin so, in no order."""
        found = {*self.before, *self.after}
        return [p for p in found if isinstance(p, tuple) and p[: len(beginning)] == beginning]

    def names(self, dimension: str) -> list[str | None]:
        """The values of a dimension that either week has, in a fixed order, without those beyond the bound."""
        found = {place[1] for place in self.places(dimension)}
        return sorted(found, key=lambda name: (name is None, name or ""))


@dataclass(frozen=True)
class Facts:
    """``name`` seeds what is drawn by chance, so that the same counts always give the same digits."""

    name: str
    before: Sums
    after: Sums
    _bins: dict[tuple[Kind, str], tuple[tuple[Ordered, int], tuple[Ordered, int]]] = field(default_factory=dict)
    _changes: dict[tuple[Kind, str, str], Change] = field(default_factory=dict)

    def bins(self, kind: Kind, metric: str) -> tuple[tuple[Ordered, int], tuple[Ordered, int]]:
        """Of both weeks, with the sum of the values."""
        if (kind, metric) not in self._bins:
            (was, was_sum), (now, now_sum) = self.before.bins(kind, metric), self.after.bins(kind, metric)
            self._bins[kind, metric] = (Ordered(was), was_sum), (Ordered(now), now_sum)
        return self._bins[kind, metric]

    def quantile(self, kind: Kind, metric: str, share: str) -> Change:
        if (kind, metric, share) not in self._changes:
            (before, _), (after, _) = self.bins(kind, metric)
            self._changes[kind, metric, share] = quantile_change(
                before, after, SHARES[share], f"{self.name} {kind} {metric} {share}"
            )
        return self._changes[kind, metric, share]

    def mean(self, kind: Kind, metric: str) -> Change:
        if (kind, metric, "mean") not in self._changes:
            self._changes[kind, metric, "mean"] = mean_change(*self.bins(kind, metric))
        return self._changes[kind, metric, "mean"]

    def counts(self, kind: Kind) -> tuple[int, int]:
        return self.before.counted(kind), self.after.counted(kind)

    def a_run(self, kind: Kind) -> tuple[float, float]:
        """Calls or tools for each run, in both weeks."""
        runs, items = self.counts(Kind.RUN), self.counts(kind)
        return items[0] / max(runs[0], 1), items[1] / max(runs[1], 1)

    @cached_property
    def p50(self) -> Change:
        return self.quantile(Kind.RUN, "wall", "p50")

    @cached_property
    def p95(self) -> Change:
        return self.quantile(Kind.RUN, "wall", "p95")

    @cached_property
    def wall(self) -> Change:
        return self.mean(Kind.RUN, "wall")

    @property
    def moved(self) -> int:
        """1 where wall times rose, -1 where they fell, 0 where neither is more than noise."""
        for change in (self.wall, self.p50, self.p95):
            if change.claimed:
                return 1 if change.rose else -1
        return 0

    @cached_property
    def stage(self) -> tuple[str, Change] | None:
        """The stage or outside time that moved most, if by more than noise and enough to be felt in the wall time. A
        stage varies less than the whole, so it may tell what the whole does not yet."""
        least = LEAST_CHANGE * (self.wall.before or 0)
        moved = [owner for owner in OWNER_NAMES if abs(self._mean_moved(owner)) >= least]
        told = [(owner, self.mean(Kind.RUN, owner)) for owner in moved]
        clear = [(owner, change) for owner, change in told if change.claimed]
        return max(clear, key=lambda pair: abs(pair[1].difference or 0), default=None)

    def _mean_moved(self, owner: str) -> float:
        """How far a mean went, without the bins that tell how sure that is."""
        was, now = (week.mean(Kind.RUN, owner) for week in (self.before, self.after))
        return 0.0 if was is None or now is None else now - was

    @cached_property
    def cache_hits(self) -> Change:
        told = []
        for week, (bins, _) in zip((self.before, self.after), self.bins(Kind.CALL, "cached_share"), strict=True):
            of = week.sum(Kind.CALL, "cacheable_tokens")
            told.append((week.sum(Kind.CALL, "cached_tokens") / of if of > 0 else None, bins))
        return weighted_share_change(told[0], told[1], SHARE_ONE)

    @cached_property
    def failures(self) -> Change:
        return share_change(*(self._share(week, Kind.RUN, Flag.FAILED) for week in (self.before, self.after)),
                            least=LEAST_FAILURES)  # fmt: skip

    @cached_property
    def tool_success(self) -> Change:
        told = []
        for week in (self.before, self.after):
            failed, untold = (week.counted(Kind.TOOL, with_=flag) for flag in (Flag.ERRED, Flag.UNTOLD))
            known = week.counted(Kind.TOOL) - untold
            told.append((known - failed, known))
        return share_change(told[0], told[1], least=LEAST_FAILURES)

    @staticmethod
    def _share(week: Sums, kind: Kind, flag: Flag) -> tuple[int, int]:
        return week.counted(kind, with_=flag), week.counted(kind)

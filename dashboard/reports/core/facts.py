"""Two weeks of one thing (all runs, a service, a tool), and what changed of it. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

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
from ingest.rollups.counting import SHARE_ONE, Flag, Kind

OWNER_NAMES = tuple(owner.value for owner in OWNERS)
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
LEAST_FAILURES = 0.01  # of runs or calls: one point is worth a word


@dataclass(frozen=True)
class Facts:
    """``name`` seeds what is drawn by chance, so that the same counts always give the same digits."""

    name: str
    before: Sums
    after: Sums

    def quantile(self, kind: Kind, metric: str, share: str) -> Change:
        before, after = (week.bins(kind, metric)[0] for week in (self.before, self.after))
        return quantile_change(before, after, SHARES[share], f"{self.name} {kind} {metric} {share}")

    def mean(self, kind: Kind, metric: str) -> Change:
        return mean_change(self.before.bins(kind, metric), self.after.bins(kind, metric))

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
        told = [(owner, self.mean(Kind.RUN, owner)) for owner in OWNER_NAMES]
        clear = [(owner, c) for owner, c in told if c.claimed and abs(c.difference or 0) >= least]
        return max(clear, key=lambda pair: abs(pair[1].difference or 0), default=None)

    @cached_property
    def cache_hits(self) -> Change:
        told = []
        for week in (self.before, self.after):
            of = week.sum(Kind.CALL, "cacheable_tokens")
            share = week.sum(Kind.CALL, "cached_tokens") / of if of > 0 else None
            told.append((share, week.bins(Kind.CALL, "cached_share")[0]))
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


Binned = Mapping[Hashable, Sums]
EMPTY = Sums()


def facts_of(place: Hashable, before: Binned, after: Binned) -> Facts:
    return Facts(name=repr(place), before=before.get(place, EMPTY), after=after.get(place, EMPTY))


def names(dimension: str, *weeks: Binned) -> list[str | None]:
    """The values of a dimension that either week has, in a fixed order, without those beyond the bound."""
    found = {place[1] for week in weeks for place in week if isinstance(place, tuple) and place[0] == dimension}
    return sorted(found, key=lambda name: (name is None, name or ""))

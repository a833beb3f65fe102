"""A rule on data of before: what it would have done, by the same verdicts and moves as when it runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from .rule import Burn, Rule, Slo
from .standing import Fired, Resolved, Standing, move, timing_of
from .verdict import Facts, Outcome, Verdict, judge

NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Would:
    """It would have fired from one instant to another, or still; ``verdict`` is that of the moment it fired."""

    fired_ns: int
    resolved_ns: int | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """``verdicts`` are of each instant."""

    verdicts: list[Verdict]
    would: list[Would]

    @property
    def told(self) -> int:
        """At how many instants there was enough to tell."""
        return sum(one.outcome in (Outcome.FINE, Outcome.BREACHED) for one in self.verdicts)


def replay(rule: Rule, slo: Slo | None, instants: Sequence[int], facts: Sequence[Facts]) -> Replayed:
    verdicts = [judge(rule, one, slo) for one in facts]
    timing, standing = replace(timing_of(rule), longest_gap_ns=NEVER_NS), Standing()
    moves: list[tuple[Fired | Resolved, Verdict]] = []
    for at_ns, verdict in zip(instants, verdicts, strict=True):
        standing, moved = move(standing, verdict, at_ns, timing)
        if moved is not None:
            moves.append((moved, verdict))
    return Replayed(verdicts=verdicts, would=list(_would(moves)))


def _would(moves: Sequence[tuple[Fired | Resolved, Verdict]]) -> Iterator[Would]:
    began: tuple[Fired, Verdict] | None = None
    for moved, verdict in moves:
        if isinstance(moved, Fired):
            began = moved, verdict
        elif began is not None:
            yield Would(fired_ns=began[0].at_ns, resolved_ns=moved.at_ns, verdict=began[1])
            began = None
    if began is not None:
        yield Would(fired_ns=began[0].at_ns, resolved_ns=None, verdict=began[1])


def worst_of(
    rule: Rule, instants: Sequence[int], verdicts: Sequence[Verdict], bounds: Sequence[int]
) -> list[float | None]:
    """One value between each two bounds: the one nearest to firing, so that a chart hides no breach. Burn rates are
    told as shares of their pair's factor, since each pair has another."""
    pick = max if getattr(rule.condition, "above", True) else min
    found: list[list[float]] = [[] for _ in bounds]
    for at_ns, one in zip(instants, verdicts, strict=True):
        if (value := _drawn(rule, one)) is not None:
            found[max(bisect_left(bounds, at_ns) - 1, 0)].append(value)
    return [pick(values) if values else None for values in found]


def _drawn(rule: Rule, verdict: Verdict) -> float | None:
    if verdict.value is None or verdict.outcome not in (Outcome.FINE, Outcome.BREACHED):
        return None
    return verdict.value / verdict.limit if isinstance(rule.condition, Burn) and verdict.limit else verdict.value


Name = TypeVar("Name")


def most_told(replayed: Mapping[Name, Replayed]) -> list[Name]:
    """Names in the order in which they matter: those that would have fired, then those with most to tell."""
    return sorted(replayed, key=lambda name: (-len(replayed[name].would), -replayed[name].told, str(name)))

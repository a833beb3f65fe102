"""Where a change of the mean came from: the mix of services, the mix of models within them, and each stage within.
Pure.

A run's unit is its service and its models. The mean wall time of a week is the sum over services of share × mean, and
a service's mean the same over its models. The change of such a sum splits without a rest into what moved the shares
and what moved the means, each valued at the average of both weeks (Bennet 1920; Laspeyres' and Paasche's splits,
averaged):

    ΔM = Σ (s₁ − s₀) · (m̄ − M̄)   the mix: more of what is slower than the rest, or less
       + Σ s̄ · (m₁ − m₀)          within: the same things took longer

The second line is split again, by models, and what is left lies within one service and its models, by stage. All is
done for each of the ten owners of time, in exact fractions, and rounded together at the end: every sum of parts is
exactly the change of the whole, in whole nanoseconds a run.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

Models = tuple[str, ...]
Unit = tuple[str | None, Models]


class Cause(StrEnum):
    SERVICES = "services"  # the mix of services
    MODELS = "models"  # the mix of models within a service
    WITHIN = "within"  # the same service with the same models


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """Runs of a unit in a week, and the nanoseconds that each owner of time had in them."""

    runs: int
    totals_ns: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """How much of the change of the mean run lies here."""

    cause: Cause
    service: str | None
    models: Models
    owner: str
    ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Means in whole nanoseconds a run; ``parts`` add up to their differences, owner by owner and as a whole."""

    before_ns: int
    after_ns: int
    before_by_owner_ns: dict[str, int]
    after_by_owner_ns: dict[str, int]
    parts: list[Part]

    @property
    def moved_ns(self) -> int:
        return self.after_ns - self.before_ns

    @property
    def by_cause_ns(self) -> dict[str, int]:
        return {cause.value: self.ns(cause=cause) for cause in Cause}

    def ns(self, *, cause: Cause | None = None, service: object = ..., owner: str | None = None) -> int:
        """The sum of the parts that fit."""
        return sum(
            part.ns
            for part in self.parts
            if (cause is None or part.cause is cause)
            and (service is ... or part.service == service)
            and (owner is None or part.owner == owner)
        )


def split_change(before: Mapping[Unit, Amount], after: Mapping[Unit, Amount], owners: Sequence[str]) -> Split | None:
    """None where one of the weeks has no runs: there is no mean to compare."""
    before, after = ({unit: a for unit, a in week.items() if a.runs} for week in (before, after))
    runs = [sum(amount.runs for amount in week.values()) for week in (before, after)]
    if not all(runs):
        return None
    means = [
        _rounded({owner: Fraction(sum(a.totals_ns[owner] for a in week.values()), n) for owner in owners})
        for week, n in zip((before, after), runs, strict=True)
    ]
    exact = _exact(before, after, owners)
    parts: list[Part] = []
    for owner in owners:
        mine = {key: ns for key, ns in exact.items() if key[3] == owner}
        moved = means[1][owner] - means[0][owner]
        for (cause, service, models, _), ns in _rounded(mine, moved).items():
            if ns:
                parts.append(Part(cause=cause, service=service, models=models, owner=owner, ns=ns))
    return Split(
        before_ns=sum(means[0].values()), after_ns=sum(means[1].values()), before_by_owner_ns=means[0],
        after_by_owner_ns=means[1], parts=parts,
    )  # fmt: skip


_Key = tuple[Cause, str | None, Models, str]


def _exact(before: Mapping[Unit, Amount], after: Mapping[Unit, Amount], owners: Sequence[str]) -> dict[_Key, Fraction]:
    """Numerators and denominators apart: thousands of fractions that are each brought to their lowest terms would cost
    more than all the rest."""
    found: dict[_Key, Fraction] = {}
    weeks = [_by_service(before), _by_service(after)]
    all0, all1 = (_sum(list(week.values()), owners) for week in (before, after))
    n0, n1 = all0.runs, all1.runs
    for service in _names(weeks):
        ours = [week.get(service, {}) for week in weeks]
        sum0, sum1 = (_sum(list(mine.values()), owners) for mine in ours)
        s0, s1 = sum0.runs, sum1.runs
        mine0, mine1 = _filled(sum0, sum1)
        d0, d1 = mine0.runs, mine1.runs
        for owner in owners:
            mean = mine0.totals_ns[owner] * d1 + mine1.totals_ns[owner] * d0  # of both weeks, over 2 d0 d1
            whole = all0.totals_ns[owner] * n1 + all1.totals_ns[owner] * n0  # over 2 n0 n1
            found[Cause.SERVICES, service, (), owner] = Fraction(
                (s1 * n0 - s0 * n1) * (mean * n0 * n1 - whole * d0 * d1), 2 * d0 * d1 * (n0 * n1) ** 2
            )
        if not s0 or not s1:
            continue  # only in one of the weeks: all of it is mix
        weight = s0 * n1 + s1 * n0  # over 2 n0 n1
        for models in sorted(ours[0].keys() | ours[1].keys()):
            unit0, unit1 = (mine.get(models, _no_runs(owners)) for mine in ours)
            m0, m1 = unit0.runs, unit1.runs
            unit0, unit1 = _filled(unit0, unit1)
            e0, e1 = unit0.runs, unit1.runs
            for owner in owners:
                mean = mine0.totals_ns[owner] * d1 + mine1.totals_ns[owner] * d0
                u0, u1 = unit0.totals_ns[owner] * e1, unit1.totals_ns[owner] * e0  # over e0 e1
                found[Cause.MODELS, service, models, owner] = Fraction(
                    weight * (m1 * s0 - m0 * s1) * ((u0 + u1) * d0 * d1 - mean * e0 * e1),
                    4 * n0 * n1 * s0 * s1 * d0 * d1 * e0 * e1,
                )
                found[Cause.WITHIN, service, models, owner] = Fraction(
                    weight * (m0 * s1 + m1 * s0) * (u1 - u0), 4 * n0 * n1 * s0 * s1 * e0 * e1
                )
    return found


def _by_service(week: Mapping[Unit, Amount]) -> dict[str | None, dict[Models, Amount]]:
    found: dict[str | None, dict[Models, Amount]] = {}
    for (service, models), amount in week.items():
        found.setdefault(service, {})[models] = amount
    return found


def _names(weeks: Sequence[Mapping[str | None, object]]) -> list[str | None]:
    return sorted(weeks[0].keys() | weeks[1].keys(), key=lambda name: (name is None, name or ""))


def _no_runs(owners: Sequence[str]) -> Amount:
    return Amount(runs=0, totals_ns=dict.fromkeys(owners, 0))


def _sum(amounts: Collection[Amount], owners: Sequence[str]) -> Amount:
    return Amount(
        runs=sum(a.runs for a in amounts), totals_ns={o: sum(a.totals_ns[o] for a in amounts) for o in owners}
    )  # fmt: skip


def _filled(before: Amount, after: Amount) -> tuple[Amount, Amount]:
    """A week without runs has the other's means, so that only shares move."""
    return before if before.runs else after, after if after.runs else before


K = TypeVar("K", bound=Hashable)


def _rounded(values: Mapping[K, Fraction], goal: int | None = None) -> dict[K, int]:
    """Whole numbers next to the values that add up to ``goal`` (else to their sum, rounded down): the largest
    remainders are rounded up."""
    wanted = sum(values.values(), Fraction(0)).__floor__() if goal is None else goal
    lowered = {key: value.__floor__() for key, value in values.items()}
    missing = wanted - sum(lowered.values())
    order = sorted(values, key=lambda key: values[key] - lowered[key], reverse=True)
    whole, over = divmod(missing, len(order)) if order else (0, 0)
    raised = set(order[:over])
    return {key: lowered[key] + whole + (key in raised) for key in values}

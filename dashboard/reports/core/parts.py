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
    found: dict[_Key, Fraction] = {}
    weeks = [_by_service(before), _by_service(after)]
    totals = [_sum(list(week.values()), owners) for week in (before, after)]
    whole = [_mean(total, owners) for total in totals]
    for service in _names(weeks):
        ours = [week.get(service, {}) for week in weeks]
        sums = [_sum(list(mine.values()), owners) for mine in ours]
        shares = [Fraction(mine.runs, total.runs) for mine, total in zip(sums, totals, strict=True)]
        means = _means(sums, owners)
        for owner in owners:
            found[Cause.SERVICES, service, (), owner] = (shares[1] - shares[0]) * (
                _average(means, owner) - _average(whole, owner)
            )
        if not all(mine.runs for mine in sums):
            continue  # only in one of the weeks: all of it is mix
        weight = (shares[0] + shares[1]) / 2
        for models in sorted(ours[0].keys() | ours[1].keys()):
            both = [mine.get(models, _no_runs(owners)) for mine in ours]
            inner = [Fraction(one.runs, mine.runs) for one, mine in zip(both, sums, strict=True)]
            theirs = _means(both, owners)
            for owner in owners:
                found[Cause.MODELS, service, models, owner] = (
                    weight * (inner[1] - inner[0]) * (_average(theirs, owner) - _average(means, owner))
                )
                found[Cause.WITHIN, service, models, owner] = (
                    weight * (inner[0] + inner[1]) / 2 * (theirs[1][owner] - theirs[0][owner])
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


def _mean(amount: Amount, owners: Sequence[str]) -> dict[str, Fraction]:
    return {owner: Fraction(amount.totals_ns[owner], amount.runs) for owner in owners}


def _means(both: Sequence[Amount], owners: Sequence[str]) -> list[dict[str, Fraction]]:
    """Of both weeks; a week without runs has the other's, so that only shares move."""
    known = [_mean(amount, owners) if amount.runs else None for amount in both]
    first = known[0] or known[1]
    second = known[1] or known[0]
    assert first is not None
    assert second is not None
    return [first, second]


def _average(means: Sequence[Mapping[str, Fraction]], owner: str) -> Fraction:
    return (means[0][owner] + means[1][owner]) / 2


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

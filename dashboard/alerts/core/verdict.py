"""A rule and its readings give a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from .burn import burning
from .measures import QUANTILES, Shape
from .rule import Absence, Burn, Change, Rule, Slo, Threshold
from .tally import Reading, Tally

NOTHING = Reading()


class Outcome(StrEnum):
    """``few``: something came, but too little to tell. ``held`` says nothing at all, as of a time in which this
    instance itself was down."""

    FINE = "fine"
    BREACHED = "breached"
    FEW = "few"
    NO_DATA = "no_data"
    ERROR = "error"
    HELD = "held"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``limit`` is what ``value`` was compared with, ``before`` last week's figure; ``why`` says in words what could
    not be told."""

    outcome: Outcome
    value: float | None = None
    limit: float | None = None
    before: float | None = None
    samples: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a verdict may rest on. ``tallies`` are an objective's, by window in seconds."""

    now: Reading = NOTHING
    before: Reading = NOTHING
    tallies: Mapping[int, Tally] | None = None
    blind: bool = False


def judge(rule: Rule, facts: Facts, slo: Slo | None = None) -> Verdict:
    condition = rule.condition
    if isinstance(condition, Absence):
        return _absence(facts)
    if isinstance(condition, Burn):
        return _burn(rule, condition, facts, slo)
    if (untold := _too_little(rule, facts.now)) is not None:
        return untold
    value = facts.now.value
    assert value is not None
    if isinstance(condition, Threshold):
        return _compared(condition.above, value, condition.limit, facts)
    return _changed(rule, condition, value, facts)


def failed(why: str) -> Verdict:
    """The verdict of a rule that could not be evaluated."""
    return Verdict(outcome=Outcome.ERROR, why=why)


def needed(rule: Rule) -> int:
    """How many samples a figure must rest on: quantiles and shares as many as the rule says, others one. Scrapes come
    by the clock, so that a few tell enough."""
    if rule.measure == "engine.up":
        return 1
    return rule.least_samples if rule.stat in QUANTILES or rule.what.shape is Shape.SHARE else 1


def _absence(facts: Facts) -> Verdict:
    if facts.blind:
        return Verdict(outcome=Outcome.HELD, why="this instance was down in the window")
    gone = facts.now.samples == 0
    return Verdict(
        outcome=Outcome.BREACHED if gone else Outcome.FINE, value=float(facts.now.samples), limit=0.0,
        samples=facts.now.samples,
    )  # fmt: skip


def _burn(rule: Rule, condition: Burn, facts: Facts, slo: Slo | None) -> Verdict:
    if slo is None:
        return failed(f"there is no objective called {condition.slo}")
    found = burning(slo, condition.pairs, facts.tallies or {}, rule.least_samples)
    if found is None:
        samples = max((tally.whole for tally in (facts.tallies or {}).values()), default=0)
        return Verdict(
            outcome=Outcome.FEW if samples else Outcome.NO_DATA, samples=samples,
            why=f"{samples} samples: too few to tell a burn rate",
        )  # fmt: skip
    return Verdict(
        outcome=Outcome.BREACHED if found.is_over else Outcome.FINE, value=min(found.long, found.short),
        limit=found.pair.factor, samples=found.samples,
    )  # fmt: skip


def _too_little(rule: Rule, reading: Reading) -> Verdict | None:
    """None where the reading can be judged. A count of nothing is a count; all else of nothing is unknown."""
    if rule.what.shape is Shape.COUNT:
        return None
    if reading.value is None:
        return Verdict(outcome=Outcome.NO_DATA, samples=reading.samples, why="no samples in the window")
    least = needed(rule)
    if reading.samples < least:
        why = f"{reading.samples} samples, fewer than {least}"
        return Verdict(outcome=Outcome.FEW, value=reading.value, samples=reading.samples, why=why)
    return None


def _changed(rule: Rule, condition: Change, value: float, facts: Facts) -> Verdict:
    then = facts.before.value
    if then is None or facts.before.samples < needed(rule) or (then == 0 and rule.what.shape is not Shape.COUNT):
        return Verdict(
            outcome=Outcome.FEW, value=value, samples=facts.now.samples,
            why=f"{facts.before.samples} samples last week: too few to compare with",
        )  # fmt: skip
    factor = 1 + condition.share if condition.above else 1 - condition.share
    return _compared(condition.above, value, then * factor, facts)


def _compared(above: bool, value: float, limit: float, facts: Facts) -> Verdict:
    breached = value > limit if above else value < limit
    return Verdict(
        outcome=Outcome.BREACHED if breached else Outcome.FINE, value=value, limit=limit, before=facts.before.value,
        samples=facts.now.samples,
    )  # fmt: skip

"""Where a week is worth a closer look: the quarter-hours in which a short window may have been out of bounds."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.rollups.bins import midpoint

from .measures import QUANTILES, Shape
from .rule import SECOND_NS, Rule, Threshold
from .tally import Step, Tally


def suspects(rule: Rule, steps: Sequence[Step], most: int) -> list[int]:
    """The beginnings of at most ``most`` steps that may hold a breach, in order; those with most out of bounds.

    A window that is a third of a step, say, has to have in itself what a third of that share of the step is; half of it
    is allowed for traffic that comes unevenly.
    """
    condition = rule.condition
    if not isinstance(condition, Threshold) or not steps:
        return []
    part = rule.window_s * SECOND_NS / (steps[0][1] - steps[0][0]) / 2
    least = part * _needed_share(rule, condition)
    scored = [(share, first) for first, _, tally in steps
              if (share := out_of_bounds(rule, condition, tally)) > 0 and share >= least]  # fmt: skip
    return sorted(first for _, first in sorted(scored, reverse=True)[:most])


def _needed_share(rule: Rule, condition: Threshold) -> float:
    """What share of a window's items must be beyond the limit for the window to be."""
    if rule.what.shape is Shape.SHARE:
        return condition.limit if condition.above else 1 - condition.limit
    quantile = QUANTILES.get(rule.stat)
    return 0.0 if quantile is None else 1 - quantile if condition.above else quantile


def out_of_bounds(rule: Rule, condition: Threshold, tally: Tally) -> float:
    """What share of a step's items is beyond the limit by itself; without any, no window in it can be."""
    if rule.what.shape is Shape.SPREAD:
        beyond = sum(
            count for index, count in tally.bins.items()
            if (midpoint(index) > condition.limit if condition.above else midpoint(index) < condition.limit)
        )  # fmt: skip
        return beyond / max(sum(tally.bins.values()), 1)
    if rule.what.shape is Shape.SHARE:
        bad = tally.part if condition.above else tally.whole - tally.part
        return bad / tally.whole if tally.whole else 0.0
    return 1.0

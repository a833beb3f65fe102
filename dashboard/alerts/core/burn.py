"""Burn rates: how many times as fast as it would last an objective's error budget is being spent.

A rate of 1 spends the budget exactly in its window. (Multi-window, multi-burn-rate alerting after the SRE Workbook,
Google 2018, chapter 5.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .rule import Pair, Slo
from .tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Burning:
    """The pair that burns, or the one nearest to it, and both rates."""

    pair: Pair
    long: float
    short: float
    samples: int

    @property
    def is_over(self) -> bool:
        return self.long >= self.pair.factor and self.short >= self.pair.factor


def burn_rate(bad: Tally, target: float) -> float | None:
    """None where nothing counted. ``part`` of ``whole`` is bad."""
    return None if not bad.whole else (bad.part / bad.whole) / (1 - target)


LEAST_BAD = 5


def needed(slo: Slo, pair: Pair, least: int) -> int:
    """How many samples the long window must hold: so many that at the limit five of them are bad. Of twenty, a single
    bad one would burn a budget of 1 % five times too fast."""
    return max(least, math.ceil(LEAST_BAD / ((1 - slo.target) * pair.factor)))


def burning(slo: Slo, pairs: tuple[Pair, ...], by_window: Mapping[int, Tally], least: int) -> Burning | None:
    """The worst of the pairs whose long window has enough samples; None where none has. An empty short window burns
    nothing: what has stopped is over."""
    found: list[Burning] = []
    for pair in pairs:
        long, short = by_window[pair.long_s], by_window[pair.short_s]
        rate = burn_rate(long, slo.target)
        if rate is None or long.whole < needed(slo, pair, least):
            continue
        found.append(
            Burning(pair=pair, long=rate, short=burn_rate(short, slo.target) or 0.0, samples=long.whole)
        )  # fmt: skip
    return max(found, key=lambda one: (one.is_over, min(one.long, one.short) / one.pair.factor), default=None)


def budget_left(bad: Tally, target: float) -> float | None:
    """What share of the window's budget is left; below 0 it is overspent."""
    rate = burn_rate(bad, target)
    return None if rate is None else 1 - rate

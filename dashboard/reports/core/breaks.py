"""Since when: the day on which a figure left its course. Pure.

Each day is compared with the same day of the week before, so that weekends break nothing. Of all ways to cut the week
into a part before and a part after, the one is taken that leaves least unexplained (least squares, weighted by how sure
each day is); it is told only where both parts differ by four times their error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.reports.core.noise import CLAIM_Z


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A figure of one day in two weeks and its standard errors; None where the day has none."""

    before: float | None
    after: float | None
    error: float


def find_break(days: Sequence[Day]) -> int | None:
    """The index of the first day of the new course; 0 where all days are off it alike; None where none can be told."""
    known = [(at, day.after - day.before, day.error) for at, day in enumerate(days)
             if day.before is not None and day.after is not None and 0 < day.error < math.inf]  # fmt: skip
    if not known:
        return None
    best: tuple[float, int] | None = None
    for cut in range(len(known)):
        left, right = known[:cut], known[cut:]
        rest = _unexplained(left) + _unexplained(right)
        if best is None or rest < best[0] - (2 * math.log(len(known)) if best[1] == 0 else 0):
            best = rest, cut  # a cut must pay for itself against none
    assert best is not None
    (before, before_error), (after, after_error) = _course(known[: best[1]]), _course(known[best[1] :])
    if best[1] and abs(after - before) > CLAIM_Z * math.hypot(before_error, after_error):
        return known[best[1]][0]
    mean, error = _course(known)
    return 0 if abs(mean) > CLAIM_Z * error else None


def _course(days: Sequence[tuple[int, float, float]]) -> tuple[float, float]:
    """The weighted mean of the differences and its error; nothing is on course."""
    if not days:
        return 0.0, 0.0
    weights = [1 / error**2 for _, _, error in days]
    mean = sum(w * difference for w, (_, difference, _) in zip(weights, days, strict=True)) / sum(weights)
    return mean, math.sqrt(1 / sum(weights))


def _unexplained(days: Sequence[tuple[int, float, float]]) -> float:
    mean, _ = _course(days)
    return sum(((difference - mean) / error) ** 2 for _, difference, error in days)

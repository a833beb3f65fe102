"""Log bins: every quantile of the product comes from these, whether summed ahead or counted from rows.

A bin holds values within 1 % of its midpoint, counts are integers, and sketches are added and subtracted bin by
bin. (The mapping is that of DDSketch, Masson et al. 2019, with relative accuracy 0.01.)
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, repeat
from operator import truediv

ACCURACY = 0.01
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
LOG_GAMMA = math.log(GAMMA)
ZERO_BIN = -1  # values of 0 and below: durations have none below


def bin_of(value: int) -> int:
    return ZERO_BIN if value < 1 else math.ceil(math.log(value) / LOG_GAMMA)


def count_bins(values: Sequence[int]) -> Counter[int]:
    """How many of the values lie in each bin: ``bin_of`` for many at once, without a Python step for each."""
    above = [value for value in values if value >= 1]
    bins = Counter(map(math.ceil, map(truediv, map(math.log, above), repeat(LOG_GAMMA))))
    if len(above) < len(values):
        bins[ZERO_BIN] = len(values) - len(above)
    return bins


@lru_cache(maxsize=4_096)
def midpoint(index: int) -> int:
    """The value that stands for a bin."""
    return 0 if index == ZERO_BIN else round(2 * GAMMA**index / (GAMMA + 1))


def bin_bounds(index: int) -> tuple[int, int]:
    """The least and the greatest whole value of a bin above zero."""
    return math.floor(GAMMA ** (index - 1)) + 1 if index else 1, math.floor(GAMMA**index)


def bin_sql(column: str) -> str:
    """``bin_of`` in SQL, for counting rows into bins where they lie."""
    return f"CASE WHEN {column} < 1 THEN {ZERO_BIN} ELSE ceil(ln({column}::float8) / {LOG_GAMMA!r})::int END"


class Ordered:
    """Bins in their order, for those who ask several things of the same ones."""

    def __init__(self, bins: Mapping[int, int]) -> None:
        self.order = sorted(bins)
        self.counts = list(map(bins.__getitem__, self.order))
        self.seen = list(accumulate(self.counts))
        self.count = self.seen[-1] if self.seen else 0

    def at(self, place: float) -> int:
        """The value that stands for the bin that holds a place among the values in their order, from 0 on."""
        return midpoint(self.order[min(bisect_right(self.seen, place), len(self.order) - 1)])

    def quantile(self, q: float) -> int | None:
        """The value below which a share ``q`` of the counted values lies, within 1 %; None without values."""
        return self.at(q * (self.count - 1)) if self.count else None


def quantile(bins: Mapping[int, int], q: float) -> int | None:
    return Ordered(bins).quantile(q)


def quantiles(bins: Mapping[int, int], shares: Sequence[float]) -> list[int | None]:
    """Several at once, for which the bins are put in order but once."""
    ordered = Ordered(bins)
    return [ordered.quantile(q) for q in shares]

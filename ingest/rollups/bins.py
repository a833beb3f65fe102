"""Log bins: every quantile of the product comes from these, whether summed ahead or counted from rows.

A bin holds values within 1 % of its midpoint, counts are integers, and sketches are added and subtracted bin by
bin. (The mapping is that of DDSketch, Masson et al. 2019, with relative accuracy 0.01.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping

ACCURACY = 0.01
GAMMA = (1 + ACCURACY) / (1 - ACCURACY)
LOG_GAMMA = math.log(GAMMA)
ZERO_BIN = -1  # values of 0 and below: durations have none below


def bin_of(value: int) -> int:
    return ZERO_BIN if value < 1 else math.ceil(math.log(value) / LOG_GAMMA)


def midpoint(index: int) -> int:
    """The value that stands for a bin."""
    return 0 if index == ZERO_BIN else round(2 * GAMMA**index / (GAMMA + 1))


def bin_sql(column: str) -> str:
    """``bin_of`` in SQL, for counting rows into bins where they lie."""
    return f"CASE WHEN {column} < 1 THEN {ZERO_BIN} ELSE ceil(ln({column}::float8) / {LOG_GAMMA!r})::int END"


def quantile(bins: Mapping[int, int], q: float) -> int | None:
    """The value below which a share ``q`` of the counted values lies, within 1 %; None without values."""
    total = sum(bins.values())
    if not total:
        return None
    rank, seen = q * (total - 1), 0
    for index in sorted(bins):
        seen += bins[index]
        if seen > rank:
            return midpoint(index)
    return midpoint(max(bins))

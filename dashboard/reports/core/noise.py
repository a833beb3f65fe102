"""How sure a change is: intervals by the bootstrap over bins, and what may be claimed at all. Pure.

Counts in bins are a multinomial of as many draws as there were values. Drawing such a sample again and taking its
quantile is the same as taking the value at a random rank: the k-th smallest of n uniform numbers follows Beta(k,
n+1-k) (David and Nagaraja, Order Statistics, 2003, 2.3). So a resampled quantile costs one draw, whatever the number
of bins, and the intervals are those of the bootstrap. Where both of Beta's parameters are large it is normal but for
its skew (Cornish and Fisher 1938): off by a few hundredths of its deviation. Then the same normal draws serve every
comparison, one set for each week; else they are seeded by what is compared. So the same counts give the same digits.

A change is **claimed** only when it is at least 3 % (3 points for shares), and four times its standard error: a
report looks at a hundred figures a week, and among so many one in twenty thousand is the least that may be called
luck.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from statistics import NormalDist

from ingest.rollups.bins import ACCURACY, Ordered, midpoint

DRAWS = 200
NORMAL_FROM = 50
CLAIM_Z = 4.0
LEAST_CHANGE = 0.03  # of the former value
LEAST_POINTS = 0.03  # of a share
FEW = 20  # samples: with fewer, nothing is claimed
FEW_EVENTS = 5
Z95 = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A figure of two weeks. ``low`` and ``high`` are the 95 % interval of the difference, None where nothing can be
    said of it. ``claimed``: more than noise, and enough to be told. Times in ns; shares from 0 to 1."""

    before: float | None
    after: float | None
    before_count: int
    after_count: int
    low: float | None
    high: float | None
    claimed: bool

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def relative(self) -> float | None:
        return None if self.difference is None or not self.before else self.difference / self.before

    @property
    def rose(self) -> bool:
        """Claimed, and upwards."""
        return self.claimed and (self.difference or 0) > 0

    @property
    def fell(self) -> bool:
        return self.claimed and (self.difference or 0) < 0


def quantile_change(before: Ordered, after: Ordered, share: float, seed: str) -> Change:
    """Of the quantile at ``share`` of two weeks' bins."""
    was, now = before.quantile(share), after.quantile(share)
    counts = before.count, after.count
    if was is None or now is None or min(counts) < 2:
        return _unsure(was, now, *counts)
    drawn = [_resampled(bins, share, week, seed) for week, bins in enumerate((before, after))]
    differences = sorted(b - a for a, b in zip(*drawn, strict=True))
    spread = math.hypot(*(_log_deviation(values) for values in drawn), ACCURACY)
    claimed = min(counts) >= FEW and _is_claimed(was, now, spread)
    return Change(
        before=was, after=now, before_count=counts[0], after_count=counts[1], low=differences[round(0.025 * DRAWS)],
        high=differences[round(0.975 * DRAWS) - 1], claimed=claimed,
    )  # fmt: skip


def mean_change(before: tuple[Ordered, int], after: tuple[Ordered, int]) -> Change:
    """Of the mean of two weeks' (bins, sum of values). A resampled mean is normal about the mean: its deviation follows
    from the bins."""
    counts = before[0].count, after[0].count
    was, now = (total / bins.count if bins.count else None for bins, total in (before, after))
    if was is None or now is None or min(counts) < 2:
        return _unsure(was, now, *counts)
    error = math.hypot(mean_error(before[0]), mean_error(after[0]))
    big = was > 0 and abs(now - was) >= LEAST_CHANGE * was
    claimed = min(counts) >= FEW and big and abs(now - was) > CLAIM_Z * error
    return Change(
        before=was, after=now, before_count=counts[0], after_count=counts[1], low=now - was - Z95 * error,
        high=now - was + Z95 * error, claimed=claimed,
    )  # fmt: skip


def share_change(before: tuple[int, int], after: tuple[int, int], *, least: float = LEAST_POINTS) -> Change:
    """Of a share of two weeks' (events, all): two binomials. What happened fewer than five times is not told."""
    (was_of, was_all), (now_of, now_all) = before, after
    was, now = (of / of_all if of_all else None for of, of_all in (before, after))
    if was is None or now is None:
        return _unsure(was, now, was_all, now_all)
    pooled = (was_of + now_of) / (was_all + now_all)
    error = math.sqrt(pooled * (1 - pooled) * (1 / was_all + 1 / now_all))
    apart = math.sqrt(was * (1 - was) / was_all + now * (1 - now) / now_all)
    events = min(max(was_of, now_of), max(was_all - was_of, now_all - now_of))
    enough = min(was_all, now_all) >= FEW and events >= FEW_EVENTS
    claimed = enough and abs(now - was) >= least and abs(now - was) > CLAIM_Z * error
    return Change(
        before=was, after=now, before_count=was_all, after_count=now_all, low=now - was - Z95 * apart,
        high=now - was + Z95 * apart, claimed=claimed,
    )  # fmt: skip


def weighted_share_change(
    before: tuple[float | None, Ordered], after: tuple[float | None, Ordered], one: int
) -> Change:
    """Of a share that is itself a sum over a sum (cached of input tokens), given with the bins of each item's own
    share, whose value ``one`` is a share of 1: how far items differ says how sure the whole is."""
    (was, was_bins), (now, now_bins) = before, after
    counts = was_bins.count, now_bins.count
    if was is None or now is None or min(counts) < 2:
        return _unsure(was, now, *counts)
    error = math.hypot(mean_error(was_bins), mean_error(now_bins)) / one
    claimed = min(counts) >= FEW and abs(now - was) >= LEAST_POINTS and abs(now - was) > CLAIM_Z * error
    return Change(
        before=was, after=now, before_count=counts[0], after_count=counts[1], low=now - was - Z95 * error,
        high=now - was + Z95 * error, claimed=claimed,
    )  # fmt: skip


def mean_error(bins: Ordered) -> float:
    """The standard error of the mean of binned values."""
    return _deviation(bins) / math.sqrt(bins.count) if bins.count else math.inf


def _unsure(was: float | None, now: float | None, was_count: int, now_count: int) -> Change:
    return Change(
        before=was, after=now, before_count=was_count, after_count=now_count, low=None, high=None, claimed=False
    )  # fmt: skip


def _resampled(bins: Ordered, share: float, week: int, seed: str) -> list[int]:
    rank = min(bins.count, int(share * (bins.count - 1)) + 1)  # the one that ``quantile`` takes, counted from 1
    return [bins.at(draw * bins.count) for draw in _beta(rank, bins.count + 1 - rank, week, seed)]


def _beta(a: int, b: int, week: int, seed: str) -> list[float]:
    if min(a, b) < NORMAL_FROM:
        chance = random.Random(f"{seed} {week}")
        return [chance.betavariate(a, b) for _ in range(DRAWS)]
    n = a + b
    mean, deviation = a / n, math.sqrt(a * b / (n + 1)) / n
    skew = 2 * (b - a) * math.sqrt((n + 1) / (a * b)) / (n + 2) / 6
    return [mean + deviation * (z + skew * (z * z - 1)) for z in _NORMAL[week]]


def _normal_draws(seed: int) -> list[float]:
    """One from each of as many equally likely parts, in a chance order."""
    drawn = [NormalDist().inv_cdf((at + 0.5) / DRAWS) for at in range(DRAWS)]
    random.Random(seed).shuffle(drawn)
    return drawn


_NORMAL = [_normal_draws(seed) for seed in range(2)]  # of each week


def _log_deviation(values: list[int]) -> float:
    logs = {value: math.log(max(value, 1)) for value in set(values)}
    told = [logs[value] for value in values]
    mean = sum(told) / len(told)
    return math.sqrt(sum([(value - mean) ** 2 for value in told]) / (len(told) - 1))


def _is_claimed(was: int, now: int, log_error: float) -> bool:
    if was <= 0 or now <= 0:
        return was != now and log_error < 1
    moved = abs(math.log(now / was))
    return moved >= math.log1p(LEAST_CHANGE) and moved > CLAIM_Z * log_error


def _deviation(bins: Ordered) -> float:
    if bins.count < 2:
        return math.inf
    told = list(zip(map(midpoint, bins.order), bins.counts, strict=True))
    mean = sum([n * value for value, n in told]) / bins.count
    return math.sqrt(sum([n * (value - mean) ** 2 for value, n in told]) / (bins.count - 1))

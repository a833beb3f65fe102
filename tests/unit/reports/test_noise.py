"""What is claimed and what is left as noise; intervals that hold what they promise."""

from __future__ import annotations

import random

import pytest

from dashboard.reports.core.noise import mean_change, quantile_change, share_change
from ingest.rollups.bins import Ordered
from ingest.rollups.bins import count_bins as counted

MS = 10**6


def count_bins(values: list[int]) -> Ordered:
    return Ordered(counted(values))


def drawn(seed: int, count: int, usual: float = 1000, spread: float = 0.6) -> list[int]:
    chance = random.Random(seed)
    return [round(chance.lognormvariate(0, spread) * usual * MS) for _ in range(count)]


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_two_draws_of_the_same_are_never_claimed(share: float) -> None:
    claimed = [
        quantile_change(count_bins(drawn(n, 500)), count_bins(drawn(n + 1000, 500)), share, str(n)).claimed
        for n in range(60)
    ]
    assert not any(claimed)


def test_its_interval_holds_the_truth_as_often_as_it_says() -> None:
    """The true change of p95 is nought; a 95 % interval may miss it now and then, here in at most one of eight."""
    changes = [
        quantile_change(count_bins(drawn(n, 800)), count_bins(drawn(n + 5000, 800)), 0.95, str(n)) for n in range(100)
    ]
    missed = sum(not (c.low or 0) <= 0 <= (c.high or 0) for c in changes)
    assert missed <= 12


def test_a_large_change_is_claimed_in_its_direction() -> None:
    before, after = count_bins(drawn(1, 800)), count_bins(drawn(2, 800, usual=1500))

    change = quantile_change(before, after, 0.95, "x")
    assert (change.rose, change.fell) == (True, False)
    assert (change.before, change.after) == (before.quantile(0.95), after.quantile(0.95))
    assert change.low is not None
    assert change.low > 0
    assert quantile_change(after, before, 0.95, "x").fell


def test_a_change_under_three_percent_is_none_however_sure() -> None:
    before, after = Ordered({600: 10**7}), Ordered({601: 10**7})  # two bins that are 2 % apart

    assert not quantile_change(before, after, 0.5, "x").claimed
    assert not mean_change((before, 100 * 10**7), (after, 102 * 10**7)).claimed


def test_few_samples_claim_nothing_and_none_are_unknown() -> None:
    few = quantile_change(count_bins([MS] * 19), count_bins([9 * MS] * 19), 0.5, "x")
    assert (few.claimed, few.low is not None) == (False, True)
    none = quantile_change(Ordered({}), count_bins([MS]), 0.5, "x")
    assert (none.before, none.after, none.low, none.claimed) == (None, count_bins([MS]).quantile(0.5), None, False)
    one = mean_change((count_bins([MS]), MS), (count_bins([2 * MS]), 2 * MS))
    assert (one.before, one.after, one.low, one.claimed) == (MS, 2 * MS, None, False)


def test_a_share_is_told_in_points_and_from_five_events_on() -> None:
    assert share_change((10, 1000), (80, 1000)).rose
    assert not share_change((0, 60), (4, 60)).claimed
    assert not share_change((500, 1000), (520, 1000)).claimed
    assert share_change((0, 0), (4, 60)).before is None


def test_zeroes_are_values() -> None:
    change = quantile_change(Ordered({-1: 100}), Ordered({-1: 100}), 0.5, "x")
    assert (change.before, change.after, change.claimed) == (0, 0, False)

"""One way to compute a quantile, within one per cent."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.rollups.bins import ACCURACY, ZERO_BIN, bin_of, midpoint, quantile

durations_ns = st.integers(min_value=1, max_value=2**62)


@given(durations_ns)
def test_a_bin_stands_for_its_values_within_one_per_cent(value: int) -> None:
    assert abs(midpoint(bin_of(value)) - value) <= ACCURACY * value * 1.0001 + 1


@given(st.lists(durations_ns, min_size=1, max_size=300), st.sampled_from([0.0, 0.5, 0.9, 0.95, 0.99, 1.0]))
def test_a_quantile_is_within_one_per_cent_of_the_exact_one(values: list[int], q: float) -> None:
    exact = sorted(values)[int(q * (len(values) - 1))]
    told = quantile(Counter(map(bin_of, values)), q)
    assert told is not None
    assert abs(told - exact) <= ACCURACY * exact * 1.0001 + 1


@given(st.lists(durations_ns, max_size=50), st.lists(durations_ns, max_size=50))
def test_merged_bins_are_those_of_all_values(left: list[int], right: list[int]) -> None:
    assert Counter(map(bin_of, left)) + Counter(map(bin_of, right)) == Counter(map(bin_of, left + right))


def test_nothing_counted_is_unknown_and_not_zero() -> None:
    assert quantile({}, 0.5) is None


@pytest.mark.parametrize("value", [0, -1])
def test_zero_has_a_bin_of_its_own(value: int) -> None:
    assert bin_of(value) == ZERO_BIN
    assert midpoint(ZERO_BIN) == 0

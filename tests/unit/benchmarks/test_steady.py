"""Row 2 is the highest rate that was kept up with, not what a queue could swallow."""

import pytest

from benchmarks.loads import Sent
from benchmarks.steady import Tried, growth, highest_steady, search


def rates_up_to(capacity: int, growth_beyond: float = 0.1) -> list[Tried]:
    def attempt(rate: int) -> Tried:
        return Tried(rate, rate, growth_beyond if rate > capacity else 0.0)

    return search(attempt, full_speed_per_s=10_000)


@pytest.mark.parametrize(
    ("capacity", "tried", "found"),
    [
        (12_000, [9_500, 10_925], 10_925),
        (10_000, [9_500, 10_925], 9_500),
        (9_000, [9_500, 8_000], 8_000),
        (7_000, [9_500, 8_000, 6_000], 6_000),
        (1_000, [9_500, 8_000, 6_000], None),
    ],
)
def test_the_search_goes_up_once_or_down_until_a_rate_is_steady(
    capacity: int, tried: list[int], found: int | None
) -> None:
    steps = rates_up_to(capacity)

    assert [step.rate for step in steps] == tried
    assert highest_steady(steps) == found


def test_a_rate_that_was_not_reached_was_not_sustained() -> None:
    assert not Tried(10_000, 9_000, growth=0.0).is_steady


@pytest.mark.parametrize(("traces_a_s", "share"), [(0, 0.0), (50, 0.05), (-50, -0.05)])
def test_growth_is_a_share_of_what_came_in(traces_a_s: int, share: float) -> None:
    # 12,000 spans/s are 1,000 traces/s; the process encodes for 5 s and sends for 15.
    told = {"acked": 180_000, "wall_s": 15.0, "acked_spans_per_s": 12_000}
    backlog = [(tick / 4, 800 + round(traces_a_s * tick / 4)) for tick in range(20, 81)]

    assert growth(Sent("steady", told, backlog, drain_s=0.1)) == pytest.approx(share, abs=0.002)


def test_what_encoding_and_the_first_seconds_did_to_the_backlog_does_not_count() -> None:
    told = {"acked": 180_000, "wall_s": 15.0, "acked_spans_per_s": 12_000}
    backlog = [(tick / 4, min(tick * 40, 1_440)) for tick in range(81)]

    assert growth(Sent("steady", told, backlog, drain_s=0.1)) == 0.0

"""Windows over steps: what comes in is taken out again, whatever a step holds."""

from __future__ import annotations

from dashboard.alerts.core.tally import Tally, Track


def test_a_window_is_the_sum_of_its_steps_and_of_nothing_else() -> None:
    steps = [(at, at + 1, Tally(count=at, total=10 * at, bins={at: 1, 7: 2})) for at in range(1, 9)]
    track = Track(steps)
    for to in (3, 5, 5, 9, 4):  # and back
        whole = [tally for first, last, tally in steps if first >= to - 3 and last <= to]
        told = track.window(to, 3)
        assert (told.count, told.total) == (sum(one.count for one in whole), sum(one.total for one in whole))
        bins = {index for one in whole for index in one.bins}
        assert told.bins == {index: sum(one.bins.get(index, 0) for one in whole) for index in bins}


def test_a_run_that_was_counted_and_taken_back_leaves_an_empty_bin_and_no_trouble() -> None:
    track = Track([(0, 1, Tally(count=1, bins={5: 0, 6: 1})), (1, 2, Tally(count=1, bins={6: 1}))])
    assert track.window(1, 1).bins == {6: 1}
    assert track.window(2, 1).bins == {6: 1}

"""On which day a figure left its course."""

from __future__ import annotations

import random

import pytest

from dashboard.reports.core.breaks import Day, find_break


def days(before: float, after: list[float | None], error: float = 1.0) -> list[Day]:
    return [Day(before=before, after=value, error=error) for value in after]


@pytest.mark.parametrize("cut", range(1, 7))
def test_it_names_the_first_day_of_the_new_course(cut: int) -> None:
    chance = random.Random(cut)
    course = [100 + (20 if at >= cut else 0) + chance.gauss(0, 1) for at in range(7)]
    assert find_break(days(100, list(course))) == cut


def test_a_week_that_is_off_from_its_first_day_has_no_cut() -> None:
    chance = random.Random(1)
    assert find_break(days(100, [120 + chance.gauss(0, 1) for _ in range(7)])) == 0


def test_noise_has_no_day() -> None:
    chance = random.Random(2)
    told = [find_break(days(100, [100 + chance.gauss(0, 1) for _ in range(7)])) for _ in range(300)]
    assert sum(found is not None for found in told) <= 3


def test_days_without_runs_are_passed_over() -> None:
    assert find_break(days(100, [100, None, 100, 130, None, 131, 130])) == 3
    assert find_break(days(100, [None] * 7)) is None

"""ISO weeks in a zone: week 53, clocks that change, and what a name may be."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from dashboard.reports.core.weeks import NoSuchWeek, Week, last_whole_week, read_week, span_of_days, week_of
from dashboard.reports.schedules import due_week

HOUR_NS = 3600 * 10**9
ZURICH = ZoneInfo("Europe/Zurich")


def at(zone: str, *moment: int) -> int:
    return int(dt.datetime(*moment, tzinfo=ZoneInfo(zone)).timestamp()) * 10**9  # type: ignore[misc]


def test_a_year_with_a_week_53_has_it_and_goes_on_with_week_1() -> None:
    assert read_week("2026-W53") == Week(2026, 53)
    assert Week(2026, 53).shifted(1) == Week(2027, 1)
    assert Week(2027, 1).shifted(-1) == Week(2026, 53)
    assert span_of_days(Week(2026, 53)) == "28 December 2026 to 3 January 2027"
    assert week_of(at("Europe/Zurich", 2027, 1, 3, 23, 59), ZURICH) == Week(2026, 53)


@pytest.mark.parametrize("name", ["2025-W53", "2026-W54", "2026-W00", "2026-40", "2026-w40", "1900-W01", "", "x" * 99])
def test_a_name_that_is_no_week_is_refused(name: str) -> None:
    with pytest.raises(NoSuchWeek, match="written like 2026-W40"):
        read_week(name)


@pytest.mark.parametrize(
    ("zone", "week", "hours"),
    [
        ("Europe/Zurich", Week(2026, 13), 167), ("Europe/Zurich", Week(2026, 43), 169),
        ("Australia/Lord_Howe", Week(2026, 14), 168.5), ("UTC", Week(2026, 13), 168),
    ],
)  # fmt: skip
def test_a_week_in_which_clocks_change_is_as_long_as_it_is(zone: str, week: Week, hours: float) -> None:
    first, last = week.range_ns(ZoneInfo(zone))
    days = week.day_bounds_ns(ZoneInfo(zone))

    assert (last - first) / HOUR_NS == hours
    assert (days[0], days[7], len(days)) == (first, last, 8)
    assert week.shifted(1).range_ns(ZoneInfo(zone))[0] == last


def test_an_instant_belongs_to_the_zones_own_week() -> None:
    sunday_evening = at("UTC", 2026, 10, 4, 23, 30)

    assert week_of(sunday_evening, ZoneInfo("UTC")) == Week(2026, 40)
    assert week_of(sunday_evening, ZoneInfo("Asia/Tokyo")) == Week(2026, 41)
    assert last_whole_week(sunday_evening, ZoneInfo("Asia/Tokyo")) == Week(2026, 40)


def test_a_report_is_due_from_its_hour_on_for_three_days_and_not_for_weeks_before_it_was_switched_on() -> None:
    monday = at("Europe/Zurich", 2026, 10, 5, 7)
    ended = Week(2026, 40).range_ns(ZURICH)[1]

    def due(now_ns: int, since_ns: int = 0) -> Week | None:
        return due_week(ZURICH, 0, 7, since_ns, now_ns)

    assert due(monday - 1) is None
    assert due(monday) == due(monday + 71 * HOUR_NS) == Week(2026, 40)
    assert due(monday + 72 * HOUR_NS) is None
    assert due(monday, since_ns=ended - 1) == Week(2026, 40)
    assert due(monday, since_ns=ended) is None


def test_an_hour_that_the_clocks_skip_is_due_when_they_have_skipped_it() -> None:
    sunday = at("Europe/Zurich", 2026, 3, 29, 3)  # 02:00 became 03:00

    assert due_week(ZURICH, 6, 2, 0, sunday - 1) is None
    assert due_week(ZURICH, 6, 2, 0, sunday) == Week(2026, 12)

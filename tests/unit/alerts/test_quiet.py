"""Silences and mute times, over changes of clocks too."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from dashboard.alerts.core.instants import week_before
from dashboard.alerts.core.quiet import QuietRefused, read_matchers, read_weekly, write_matchers

BERLIN = ZoneInfo("Europe/Berlin")


def at(*local: int, fold: int = 0) -> int:
    moment = dt.datetime(*local, tzinfo=BERLIN, fold=fold)  # type: ignore[misc]
    return int(moment.timestamp()) * 10**9


@pytest.mark.parametrize(
    ("local", "holds"),
    [
        ((2025, 3, 28, 21, 59), False), ((2025, 3, 28, 22, 0), True), ((2025, 3, 29, 6, 59), True),
        ((2025, 3, 29, 7, 0), False), ((2025, 3, 30, 3, 0), False), ((2025, 3, 27, 23, 0), False),
    ],
)  # fmt: skip
def test_a_night_goes_over_midnight_by_the_zones_clock(local: tuple[int, ...], holds: bool) -> None:
    assert read_weekly(["Fri"], "22:00", "07:00", "Europe/Berlin").holds(at(*local)) is holds


def test_the_hour_that_comes_twice_is_muted_twice() -> None:
    night = read_weekly(["sun"], "02:00", "03:00", "Europe/Berlin")
    assert night.holds(at(2025, 10, 26, 2, 30, fold=0))
    assert night.holds(at(2025, 10, 26, 2, 30, fold=1))
    assert not night.holds(at(2025, 10, 26, 3, 0))


@pytest.mark.parametrize(
    ("now", "then"),
    [((2025, 3, 31, 9, 0), (2025, 3, 24, 9, 0)), ((2025, 10, 27, 9, 0), (2025, 10, 20, 9, 0))],
)
def test_last_week_is_at_the_same_time_by_the_clock(now: tuple[int, ...], then: tuple[int, ...]) -> None:
    assert week_before(at(*now), BERLIN) == at(*then)
    assert (at(*now) - at(*then)) % (7 * 86_400 * 10**9)


@pytest.mark.parametrize(
    ("text", "labels", "fits"),
    [
        ("service=shop", {"service": "shop"}, True), ("service=sh*", {"service": "shop"}, True),
        ('service="a, b"', {"service": "a, b"}, True), ("service!=shop", {}, True), ("service=*", {}, True),
        ("service=[s]hop", {"service": "shop"}, False), ("service=?hop", {"service": "shop"}, False),
        ("service=shop, severity!=info", {"service": "shop", "severity": "info"}, False),
    ],
)  # fmt: skip
def test_matchers_mean_what_they_say_and_are_written_as_read(text: str, labels: dict[str, str], fits: bool) -> None:
    matchers = read_matchers(text)
    assert all(one.fits(labels) for one in matchers) is fits
    assert read_matchers(write_matchers(matchers)) == matchers


@pytest.mark.parametrize("text", ["", "service", "=x", 'a="b', "a=b;c=d=e,,"])
def test_what_is_no_matcher_is_refused(text: str) -> None:
    with pytest.raises(QuietRefused):
        read_matchers(text)

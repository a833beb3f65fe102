"""ISO weeks in a zone: which days they have, when they begin and end. Pure.

A week begins at the zone's midnight before its Monday. It has 167 or 169 hours where the clock changes; a year has 52
or 53 of them.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from ingest.rollups.steps import midnight

_NAME = re.compile(r"([0-9]{4})-W([0-9]{2})")
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
FIRST_YEAR, LAST_YEAR = 1971, 9000
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


class NoSuchWeek(ValueError):
    """A name that is no ISO week; the message says how one is written."""


@dataclass(frozen=True, slots=True, order=True)
class Week:
    year: int
    number: int

    def __str__(self) -> str:
        return f"{self.year}-W{self.number:02}"

    @property
    def monday(self) -> dt.date:
        return dt.date.fromisocalendar(self.year, self.number, 1)

    @property
    def days(self) -> list[dt.date]:
        return [self.monday + dt.timedelta(days=n) for n in range(7)]

    def shifted(self, weeks: int) -> Week:
        """The week so many weeks later, or earlier."""
        return week_of_date(self.monday + dt.timedelta(weeks=weeks))

    def range_ns(self, zone: ZoneInfo) -> tuple[int, int]:
        """Begin and end in Unix nanoseconds."""
        return midnight(self.monday, zone), midnight(self.monday + dt.timedelta(days=7), zone)

    def day_bounds_ns(self, zone: ZoneInfo) -> list[int]:
        """Eight midnights: the days' begins and the last one's end."""
        return [midnight(self.monday + dt.timedelta(days=n), zone) for n in range(8)]


def read_week(name: str) -> Week:
    """``2026-W40`` as a week. Raises NoSuchWeek, also for a week 53 of a year that has none."""
    found = _NAME.fullmatch(name)
    if found and FIRST_YEAR <= int(found[1]) <= LAST_YEAR and 1 <= int(found[2]) <= weeks_of(int(found[1])):
        return Week(int(found[1]), int(found[2]))
    raise NoSuchWeek(f"{name[:40]!r} is no ISO week; they are written like 2026-W40, and few years have a week 53")


def weeks_of(year: int) -> int:
    """52, or 53: the last week is the one with 28 December."""
    return dt.date(year, 12, 28).isocalendar().week


def week_of_date(date: dt.date) -> Week:
    year, number, _ = date.isocalendar()
    return Week(year, number)


def week_of(unix_ns: int, zone: ZoneInfo) -> Week:
    """The week that holds an instant, by the zone's calendar."""
    return week_of_date(date_of(unix_ns, zone))


def date_of(unix_ns: int, zone: ZoneInfo) -> dt.date:
    return (_EPOCH + dt.timedelta(seconds=unix_ns // 10**9)).astimezone(zone).date()


def last_whole_week(now_ns: int, zone: ZoneInfo) -> Week:
    return week_of(now_ns, zone).shifted(-1)


def span_of_days(week: Week) -> str:
    """``29 September to 5 October 2026``, as short as it can be told."""
    first, last = week.days[0], week.days[6]
    end = f"{last.day} {MONTHS[last.month - 1]} {last.year}"
    if first.year != last.year:
        return f"{first.day} {MONTHS[first.month - 1]} {first.year} to {end}"
    if first.month != last.month:
        return f"{first.day} {MONTHS[first.month - 1]} to {end}"
    return f"{first.day} to {end}"

"""Steps of time: minutes, quarter-hours, hours and a zone's days, and which of them make up a range. Pure.

A day is what the zone's clock calls one: 23 or 25 hours where it changes. All borders are instants in Unix
nanoseconds.
"""

from __future__ import annotations

import datetime as dt
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple
from zoneinfo import ZoneInfo

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
QUARTER_NS = 15 * MINUTE_NS
HOUR_NS = 60 * MINUTE_NS
UTC_DAY_NS = 86_400 * SECOND_NS
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FIRST_NS, _LAST_NS = -2_000_000_000 * SECOND_NS, 250_000_000_000 * SECOND_NS  # years 1906 to 9892: dates exist


class Step(IntEnum):
    """Beside hours and days there are plain ones, whose cells tell apart no version, model, engine or tool: a fraction
    of the cells, for questions that need no more."""

    MINUTE = 0
    QUARTER = 1
    DAY = 2
    HOUR = 3
    PLAIN_DAY = 4
    PLAIN_HOUR = 5

    @property
    def is_plain(self) -> bool:
        return self in (Step.PLAIN_DAY, Step.PLAIN_HOUR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """From when on short steps are kept; before that only longer ones are, or the rows themselves. On whole hours."""

    minutes_from_ns: int
    hours_from_ns: int  # and quarter-hours


EVERYTHING = Kept(minutes_from_ns=-(2**63), hours_from_ns=-(2**63))


class Piece(NamedTuple):
    """A part of a range that whole steps of one length fill; without ``step`` only the rows themselves do."""

    step: Step | None
    from_ns: int
    to_ns: int


def day_of(unix_ns: int, zone: ZoneInfo) -> tuple[int, int]:
    """Begin and end of the zone's day that holds an instant; both on whole minutes, as rollups need them."""
    at = _EPOCH + dt.timedelta(seconds=max(_FIRST_NS, min(unix_ns, _LAST_NS)) // SECOND_NS)
    date = at.astimezone(zone).date()
    return midnight(date, zone), midnight(date + dt.timedelta(days=1), zone)


def midnight(date: dt.date, zone: ZoneInfo) -> int:
    """The first minute of a date; where the clock skips midnight, the instant at which it does."""
    local = dt.datetime(date.year, date.month, date.day, tzinfo=zone)
    seconds = int((local.astimezone(dt.UTC) - _EPOCH).total_seconds())
    return -(-seconds // 60) * MINUTE_NS


def days_between(from_ns: int, to_ns: int, zone: ZoneInfo) -> Iterator[tuple[int, int]]:
    """The zone's days that lie wholly in a range."""
    start, end = day_of(from_ns, zone)
    if start < from_ns:
        start, end = day_of(end, zone)
    while end <= to_ns and start < end:
        yield start, end
        start, end = day_of(end, zone)


def cover(
    from_ns: int, to_ns: int, zone: ZoneInfo | None, kept: Kept = EVERYTHING, *, plain: bool = False
) -> list[Piece]:
    """A range as few whole steps: days of ``zone`` (None: there are none), then hours, quarter-hours and minutes; what
    is left at its ends is less than the shortest step each. Where short steps are kept no more, rows must do."""
    if zone is not None:
        days = list(days_between(from_ns, to_ns, zone))
        if days:
            first, last = days[0][0], days[-1][1]
            whole = Piece(Step.PLAIN_DAY if plain else Step.DAY, first, last)
            return [
                *cover(from_ns, first, None, kept, plain=plain), whole, *cover(last, to_ns, None, kept, plain=plain)
            ]  # fmt: skip
    hour = Step.PLAIN_HOUR if plain else Step.HOUR
    lengths = (hour, HOUR_NS), (Step.QUARTER, QUARTER_NS), (Step.MINUTE, MINUTE_NS)
    hours_from, minutes_from = max(from_ns, kept.hours_from_ns), max(from_ns, kept.minutes_from_ns, kept.hours_from_ns)
    return [
        *_with((), from_ns, min(to_ns, hours_from)),
        *_with(lengths[:2], hours_from, min(to_ns, minutes_from)),
        *_with(lengths, minutes_from, to_ns),
    ]


def _with(lengths: Sequence[tuple[Step, int]], from_ns: int, to_ns: int) -> Iterator[Piece]:
    if from_ns >= to_ns:
        return
    if not lengths:
        yield Piece(None, from_ns, to_ns)
        return
    (step, length), *finer = lengths
    first, last = -(-from_ns // length) * length, to_ns // length * length
    if first >= last:
        yield from _with(finer, from_ns, to_ns)
        return
    yield from _with(finer, from_ns, first)
    yield Piece(step, first, last)
    yield from _with(finer, last, to_ns)


def step_index(bounds: Sequence[int], unix_ns: int) -> int:
    """In which of the steps between ascending bounds an instant lies."""
    return bisect_right(bounds, unix_ns) - 1

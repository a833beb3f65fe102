"""Who is not told, and when: silences by matcher, once or again and again on days of the week."""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
DAY_MINUTES = 24 * 60
LONGEST_VALUE, MOST_MATCHERS = 200, 20
_MATCHER = re.compile(r"""\s*([A-Za-z_][\w.]{0,60})\s*(!=|=)\s*("(?:[^"\\]|\\.)*"|[^,"]*)\s*(?:,|$)""")
_CLOCK = re.compile(r"([01]\d|2[0-4]):([0-5]\d)")


class QuietRefused(ValueError):
    """A matcher or a time that cannot be read; the text says what is expected."""


class Op(StrEnum):
    IS = "="
    IS_NOT = "!="


@dataclass(frozen=True, slots=True, kw_only=True)
class Matcher:
    """``pattern`` may hold asterisks, each for any text. A label that is not there counts as empty."""

    label: str
    op: Op
    pattern: str

    def fits(self, labels: Mapping[str, str]) -> bool:
        found = fnmatch.fnmatchcase(labels.get(self.label, ""), self.pattern.replace("[", "[[]").replace("?", "[?]"))
        return found if self.op is Op.IS else not found

    def __str__(self) -> str:
        return f'{self.label}{self.op}"{self.pattern}"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly:
    """On these days of the week from one minute of the day to another, by the clock of ``zone``; over midnight where
    the end is not after the beginning. An hour that the clock skips is not there, one it repeats counts twice."""

    days: tuple[str, ...]
    from_minute: int
    to_minute: int
    zone: str

    def holds(self, at_ns: int) -> bool:
        local = dt.datetime.fromtimestamp(at_ns // 10**9, ZoneInfo(self.zone))
        minute, day = local.hour * 60 + local.minute, local.weekday()
        if self.from_minute < self.to_minute:
            return DAYS[day] in self.days and self.from_minute <= minute < self.to_minute
        if minute >= self.from_minute:
            return DAYS[day] in self.days
        return minute < self.to_minute and DAYS[day - 1] in self.days


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """A silence (from, to) or a mute time (weekly, within from and to where these are given)."""

    id: int
    matchers: tuple[Matcher, ...]
    from_ns: int | None = None
    to_ns: int | None = None
    weekly: Weekly | None = None

    def holds(self, at_ns: int) -> bool:
        if self.from_ns is not None and at_ns < self.from_ns:
            return False
        if self.to_ns is not None and at_ns >= self.to_ns:
            return False
        return self.weekly is None or self.weekly.holds(at_ns)

    def covers(self, labels: Mapping[str, str], at_ns: int) -> bool:
        return self.holds(at_ns) and all(matcher.fits(labels) for matcher in self.matchers)


def silenced_by(quiets: Iterable[Quiet], labels: Mapping[str, str], at_ns: int) -> Quiet | None:
    return next((one for one in quiets if one.covers(labels, at_ns)), None)


def read_matchers(text: str) -> tuple[Matcher, ...]:
    """Of ``service="support", severity!=info, model=llama*``. Raises QuietRefused; none at all would match all."""
    found, at = [], 0
    text = text.strip().removeprefix("{").removesuffix("}").strip()
    while at < len(text):
        told = _MATCHER.match(text, at)
        if told is None:
            raise QuietRefused(f"{text[at : at + 60]!r}: write label=value or label!=value, commas between")
        value = told[3].strip()
        value = re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value
        if len(value) > LONGEST_VALUE or not value.isprintable():
            raise QuietRefused(f"a value is at most {LONGEST_VALUE} visible characters")
        found.append(Matcher(label=told[1], op=Op(told[2]), pattern=value))
        at = told.end()
    if not found or len(found) > MOST_MATCHERS:
        raise QuietRefused(f"give 1 to {MOST_MATCHERS} matchers, such as service=support")
    return tuple(found)


def write_matchers(matchers: Iterable[Matcher]) -> str:
    return ", ".join(
        f'{one.label}{one.op}"{one.pattern}"' if re.search(r'[,"\s]', one.pattern) or not one.pattern
        else f"{one.label}{one.op}{one.pattern}" for one in matchers
    )  # fmt: skip


def read_weekly(days: Iterable[str], start: str, end: str, zone: str) -> Weekly:
    """Raises QuietRefused. ``zone`` is known to be one."""
    chosen = tuple(day for day in DAYS if day in {str(told).strip().lower()[:3] for told in days})
    if not chosen:
        raise QuietRefused(f"give days of the week: {', '.join(DAYS)}")
    return Weekly(days=chosen, from_minute=_minute(start), to_minute=_minute(end), zone=zone)


def write_minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"


def _minute(text: str) -> int:
    found = _CLOCK.fullmatch(str(text).strip())
    minute = int(found[1]) * 60 + int(found[2]) if found else DAY_MINUTES + 1
    if minute > DAY_MINUTES:
        raise QuietRefused(f"{str(text)[:20]!r} is no time of day: write it like 22:00")
    return minute

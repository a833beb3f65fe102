"""The time range of a page, as its URL says it."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """A named length of time up to now, and the step by which charts cut it."""

    key: str
    label: str
    words: str
    seconds: int
    step_s: int
    step_words: str


STEPS_S = (30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
STEPS_ABOUT = 72  # in a range's chart: as many as can be told apart
_WORDS = {30: "by half minute", 60: "by minute", 3600: "by hour", 86_400: "by day"}
_UNITS_S = {"m": 60, "min": 60, "h": 3600, "d": 86_400}
_UNIT_WORDS = {"m": "minute", "min": "minute", "h": "hour", "d": "day"}
_LENGTH = re.compile(r"(\d{1,4})(m|min|h|d)")
_RELATIVE = re.compile(r"(?:now)?(?:-(\d{1,5})(m|min|h|d))?")
LONGEST_S = 400 * 86_400


def step_for(seconds: int) -> int:
    """Seconds of a chart's step."""
    return next((step for step in STEPS_S if seconds <= step * STEPS_ABOUT), STEPS_S[-1])


def step_words(step_s: int) -> str:
    named = f"by {step_s // 60} minutes" if step_s < 3600 else f"by {step_s // 3600} hours"
    return _WORDS.get(step_s, named)


def range_of(key: str) -> Range | None:
    """The range that a key such as 15m, 6h or 3d names."""
    found = _LENGTH.fullmatch(key)
    if found is None:
        return None
    number, unit = int(found[1]), found[2]
    seconds = number * _UNITS_S[unit]
    if not 0 < seconds <= LONGEST_S:
        return None
    word = _UNIT_WORDS[unit]
    return Range(
        key=key, label=f"{number} {'min' if word == 'minute' else unit}", seconds=seconds, step_s=step_for(seconds),
        words=f"the last {word}" if number == 1 else f"the last {number} {word}s",
        step_words=step_words(step_for(seconds)),
    )  # fmt: skip


RANGES = tuple(found for key in ("15m", "1h", "6h", "24h", "7d", "30d") if (found := range_of(key)))
USUAL = RANGES[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when to when. ``to_unix_ns`` is None for "until now"; ``range`` is None for a span of its own."""

    range: Range | None
    from_unix_ns: int
    to_unix_ns: int | None

    @property
    def words(self) -> str:
        return self.range.words if self.range else "this time"

    def query(self) -> dict[str, str]:
        """As URL parameters."""
        if self.range:
            return {"range": self.range.key}
        return {"from": str(self.from_unix_ns)} | ({"to": str(self.to_unix_ns)} if self.to_unix_ns else {})


def read_window(parameters: Mapping[str, str], now_ns: int, usual: Range = USUAL) -> tuple[Window, list[str]]:
    """The window that the URL asks for and, in words, what in it could not be read."""
    problems: list[str] = []
    zone = read_zone(parameters.get("zone", ""))
    start, end = (_instant(parameters, name, now_ns, zone, problems) for name in ("from", "to"))
    if start is not None and end is not None and start >= end:
        problems.append("from and to: expected a range that ends after it begins; it is left out.")
        start = end = None
    if start is not None or end is not None:
        return Window(range=None, from_unix_ns=start or 0, to_unix_ns=end), problems
    key = parameters.get("range") or usual.key
    chosen = next((r for r in RANGES if r.key == key), None) or range_of(key)
    if chosen is None:
        problems.append(f"range={key}: expected a length such as 15m, 6h or 7d; {usual.label} is shown.")
    chosen = chosen or usual
    return Window(range=chosen, from_unix_ns=now_ns - chosen.seconds * SECOND_NS, to_unix_ns=None), problems


def read_zone(name: str) -> ZoneInfo:
    """The zone in which times without one are meant; UTC where there is none of that name."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ZoneInfo("UTC")


def _instant(parameters: Mapping[str, str], name: str, now_ns: int, zone: ZoneInfo, problems: list[str]) -> int | None:
    text = parameters.get(name, "").strip()
    if not text or (name == "to" and text == "now"):
        return None
    found = read_instant(text, now_ns, zone)
    if found is None:
        problems.append(
            f"{name}={text}: expected Unix nanoseconds, a time such as 2026-03-01T09:30, or now-2h; it is left out."
        )
    return found


def read_instant(text: str, now_ns: int, zone: ZoneInfo) -> int | None:
    """Unix nanoseconds of a moment: as such, as a time in ISO's form (in ``zone`` where it names none), or as a length
    back from now."""
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 19 and int(text) < 1 << 63 else None
    if back := _RELATIVE.fullmatch(text):
        return now_ns - (int(back[1]) * _UNITS_S[back[2]] * SECOND_NS if back[1] else 0)
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    at = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    since = at - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    unix_ns = (since.days * 86_400 + since.seconds) * SECOND_NS + since.microseconds * 1000
    return unix_ns if 0 <= unix_ns < 1 << 63 else None


def range_that_holds(unix_ns: int, now_ns: int) -> Range | None:
    """The shortest range in which a moment still lies."""
    return next((r for r in RANGES if unix_ns >= now_ns - r.seconds * SECOND_NS), None)

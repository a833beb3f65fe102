"""The time range of a page, as its URL says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


RANGES = (
    Range(
        key="15m",
        label="15 min",
        words="the last 15 minutes",
        seconds=900,
        step_s=30,
        step_words="by half minute",
    ),
    Range(key="1h", label="1 h", words="the last hour", seconds=3600, step_s=60, step_words="by minute"),
    Range(key="6h", label="6 h", words="the last 6 hours", seconds=21_600, step_s=300, step_words="by 5 minutes"),
    Range(
        key="24h",
        label="24 h",
        words="the last 24 hours",
        seconds=86_400,
        step_s=1200,
        step_words="by 20 minutes",
    ),
)
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
    start, end = (_instant(parameters, name, problems) for name in ("from", "to"))
    if start is not None or end is not None:
        return Window(range=None, from_unix_ns=start or 0, to_unix_ns=end), problems
    key = parameters.get("range", usual.key)
    chosen = next((r for r in RANGES if r.key == key), None)
    if chosen is None:
        problems.append(f"range={key}: expected one of {', '.join(r.key for r in RANGES)}; {usual.label} is shown.")
    chosen = chosen or usual
    return Window(range=chosen, from_unix_ns=now_ns - chosen.seconds * SECOND_NS, to_unix_ns=None), problems


def _instant(parameters: Mapping[str, str], name: str, problems: list[str]) -> int | None:
    text = parameters.get(name, "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 19 and int(text) < 1 << 63:
        return int(text)
    problems.append(f"{name}={text}: expected Unix nanoseconds; it is left out.")
    return None


def range_that_holds(unix_ns: int, now_ns: int) -> Range | None:
    """The shortest range in which a moment still lies."""
    return next((r for r in RANGES if unix_ns >= now_ns - r.seconds * SECOND_NS), None)

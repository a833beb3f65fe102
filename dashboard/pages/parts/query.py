"""The filters of the Runs page, read from its URL, and the links that change them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from dashboard.figures import duration
from ingest.read.runs import FACETS, ORDERS, RunFilter
from ingest.read.values import Facet

from .window import Window

PAGE_ROWS = 50
EQUAL = (*FACETS, "session", "user")
LABELS = {
    "service": "Service",
    "agent": "Agent",
    "model": "Model",
    "tool": "Tool asked for",
    "status": "Status",
    "environment": "Environment",
    "version": "Version",
}
STATUS_WORDS = {"ok": "ok", "error": "failed", "open": "in flight"}
WALLS = ("1s", "5s", "20s", "1min")
KEPT = ("project", "range", "from", "to", *EQUAL, "min_wall", "q", "sort", "bars")
_AMOUNT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ns|us|µs|ms|s|min|m|h)?")
_UNITS = {
    "ns": 1,
    "us": 1000,
    "µs": 1000,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One filter in force, as the query line shows it."""

    field: str
    sign: str
    value: str
    without: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One value of a facet. ``link`` sets it, or takes it away where it is chosen."""

    value: str
    label: str
    runs: int | None
    share: float
    chosen: bool
    link: str


def read_filter(parameters: Mapping[str, str], window: Window) -> tuple[RunFilter, list[str]]:
    """The filter that the URL asks for and, in words, what in it could not be read and was left out."""
    problems: list[str] = []
    equal = {name: parameters[name] for name in EQUAL if parameters.get(name)}
    sort = parameters.get("sort") or "newest"
    if sort not in ORDERS:
        problems.append(f"sort={sort}: expected one of {', '.join(ORDERS)}; newest first is shown.")
        sort = "newest"
    if equal.get("status", "ok") not in STATUS_WORDS:
        problems.append(f"status={equal.pop('status')}: expected one of ok, error, open; it is left out.")
    found = RunFilter(
        from_unix_ns=window.from_unix_ns,
        to_unix_ns=window.to_unix_ns,
        **equal,
        min_wall_ns=_least_wall(parameters, problems),
        q=_text(parameters.get("q", "")),
        sort=sort,
        cursor=parameters.get("cursor") or None,
        limit=PAGE_ROWS,
    )
    return found, problems


def _text(text: str) -> str | None:
    # PostgreSQL knows no NUL in text.
    return text.replace("\0", "").strip() or None


def _least_wall(parameters: Mapping[str, str], problems: list[str]) -> int | None:
    given = parameters.get("min_wall_ns")
    text = f"{given}ns" if given else parameters.get("min_wall", "").strip()
    if not text:
        return None
    amount = read_amount(text)
    if amount is None:
        problems.append(f"wall ≥ {text}: expected a time such as 800ms, 5s or 2min; it is left out.")
    return amount


def read_amount(text: str) -> int | None:
    """Nanoseconds of a time as people write it; seconds where no unit is given."""
    found = _AMOUNT.fullmatch(text.strip().lower())
    return round(float(found[1]) * _UNITS[found[2] or "s"]) if found else None


class Links:
    """Addresses of the Runs page that differ from the present one in the parameters named."""

    def __init__(self, path: str, parameters: Mapping[str, str]) -> None:
        self.path = path
        self.kept = {name: parameters[name] for name in KEPT if parameters.get(name)}
        if parameters.get("min_wall_ns"):
            self.kept["min_wall"] = f"{parameters['min_wall_ns']}ns"

    def change(self, **changes: str | None) -> str:
        """None takes a parameter away. The cursor never survives: it belongs to one list."""
        query = {k: v for k, v in (self.kept | changes).items() if v is not None}
        return f"{self.path}?{urlencode(query)}" if query else self.path


def tokens(wanted: RunFilter, links: Links) -> list[Token]:
    shown = [
        Token(
            field=name,
            sign=":",
            value=STATUS_WORDS.get(value, value) if name == "status" else value,
            without=links.change(**{name: None}),
        )
        for name in EQUAL
        if (value := getattr(wanted, name))
    ]
    if wanted.min_wall_ns is not None:
        shown.append(
            Token(
                field="wall",
                sign="≥",
                value=str(duration(wanted.min_wall_ns)),
                without=links.change(min_wall=None),
            )
        )
    return shown


def choices(found: Iterable[Facet], wanted: RunFilter, links: Links) -> list[tuple[str, list[Choice]]]:
    """The facets with their values; a chosen value that no run has any more stays, so that it can be taken away."""
    shown = []
    for facet in found:
        chosen = getattr(wanted, facet.field)
        values = list(facet.values)
        if chosen and chosen not in dict(values):
            values.append((chosen, 0))
        if not values:
            continue
        most = sum(n for _, n in values) if facet.field not in ("tool", "model") else max(n for _, n in values)
        shown.append(
            (
                LABELS[facet.field],
                [_choice(facet.field, value, n, most, chosen, links) for value, n in values],
            )
        )
    return shown


def _choice(field: str, value: str, runs: int, most: int, chosen: str | None, links: Links) -> Choice:
    return Choice(
        value=value,
        label=STATUS_WORDS.get(value, value) if field == "status" else value,
        runs=runs,
        share=runs / most if most else 0,
        chosen=value == chosen,
        link=links.change(**{field: None if value == chosen else value}),
    )


def wall_choices(wanted: RunFilter, links: Links) -> list[Choice]:
    """Least wall times to choose from."""
    shown = []
    for text in WALLS:
        amount = read_amount(text)
        chosen = amount == wanted.min_wall_ns
        label = f"{duration(amount)}".replace(".00", "").replace(".0", "").replace("\u202f00\u202fs", "")
        shown.append(
            Choice(
                value=text,
                label=label,
                runs=None,
                share=0,
                chosen=chosen,
                link=links.change(min_wall=None if chosen else text),
            )
        )
    return shown

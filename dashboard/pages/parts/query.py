"""The filter of the Runs page, read from its URL, and the links that change it.

The query is the whole filter: other parameters that name one field, as older links and other pages do, become
conditions of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import QueryDict

from dashboard.figures import duration
from dashboard.pages.parts.bar import LABELS as STAGE_LABELS
from ingest.read.query.amounts import read_amount
from ingest.read.query.editing import chosen, joined, replaced, toggled
from ingest.read.query.parser import parse, quote
from ingest.read.query.terms import BadQuery, Query, Unit
from ingest.read.runs import ORDERS, RunFilter
from ingest.read.values import Facet

from .window import Window

PAGE_ROWS = 50
EQUAL = ("service", "agent", "model", "tool", "status", "environment", "version", "session", "user")
LABELS = {
    "service": "Service",
    "agent": "Agent",
    "model": "Model",
    "tool": "Tool asked for",
    "status": "Status",
    "costliest": "Costliest stage",
    "engine": "Engine",
    "environment": "Environment",
    "version": "Version",
}
STATUS_WORDS = {"ok": "ok", "error": "failed", "open": "in flight"}
WALLS = ("1s", "5s", "20s", "1min")
KEPT = ("project", "zone", "range", "from", "to", "q", "sort", "bars", "columns")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One condition in force, as the query line shows it. ``text`` is it as it was written."""

    field: str
    sign: str
    value: str
    text: str
    without: str
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One value of a facet. ``link`` sets it, or takes it away where it is chosen."""

    value: str
    label: str
    runs: int | None
    share: float
    chosen: bool
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A query that cannot be read: what stands before the character, from it on, and what is wrong there."""

    before: str
    after: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the URL asks for. ``problems`` are in words what in it could not be read and was left out; a query that
    cannot be read is not left out: then ``refused`` is set and nothing is looked for."""

    wanted: RunFilter
    query: Query
    text: str
    problems: list[str]
    refused: Refused | None


def read_filter(parameters: QueryDict, window: Window) -> Asked:
    problems: list[str] = []
    sort = parameters.get("sort") or "newest"
    if sort not in ORDERS:
        problems.append(f"sort={sort}: expected one of {', '.join(ORDERS)}; newest first is shown.")
        sort = "newest"
    text = query_text(parameters)
    refused = None
    try:
        query = parse(text)
    except BadQuery as bad:
        query = Query(())
        refused = Refused(before=text[: bad.at], after=text[bad.at :], message=bad.message)
    wanted = RunFilter(
        from_unix_ns=window.from_unix_ns, to_unix_ns=window.to_unix_ns, q=text or None, sort=sort,
        cursor=parameters.get("cursor") or None, limit=PAGE_ROWS,
    )  # fmt: skip
    return Asked(wanted=wanted, query=query, text=text, problems=problems, refused=refused)


def query_text(parameters: QueryDict) -> str:
    """Of several ``q`` all hold: the line's chips, and what is written beside them."""
    # PostgreSQL knows no NUL in text.
    written = [text.replace("\0", "") for text in parameters.getlist("q")]
    equal = [f"{name}:{quote(value.replace(chr(0), ''))}" for name in EQUAL if (value := parameters.get(name))]
    least = parameters.get("min_wall", "").strip()
    if told := parameters.get("min_wall_ns"):
        least = f"{told}ns"
    return joined(*written, *equal, f"wall>={quote(least)}" if least else "")


class Links:
    """Addresses of the Runs page that differ from the present one in the parameters named."""

    def __init__(self, path: str, parameters: QueryDict) -> None:
        self.path = path
        self.kept = {name: parameters[name] for name in KEPT if parameters.get(name)}
        self.kept |= {"q": text} if (text := query_text(parameters)) else {}
        if columns := parameters.getlist("columns"):
            self.kept["columns"] = ",".join(columns)

    def change(self, **changes: str | None) -> str:
        """None or an empty text takes a parameter away. The cursor never survives: it belongs to one list."""
        query = {k: v for k, v in (self.kept | changes).items() if v}
        return f"{self.path}?{urlencode(query)}" if query else self.path


def tokens(query: Query, links: Links) -> list[Token]:
    shown = []
    for term in query.terms:
        head = term.text.removeprefix("NOT").strip().removeprefix("-")
        value = head.partition(term.sign)[2] if term.sign else head
        field = head.partition(term.sign)[0] if term.sign else ""
        shown.append(
            Token(
                field=field, sign=term.sign, value=value, text=term.text, negated=term.negated and term.sign != "!=",
                without=links.change(q=str(query.without(term))),
            )
        )  # fmt: skip
    return shown


def choices(found: Iterable[Facet], query: Query, links: Links) -> list[tuple[str, list[Choice]]]:
    """The facets with their values; a chosen value that no run has any more stays, so that it can be taken away."""
    shown = []
    for facet in found:
        taken = chosen(query, facet.field)
        values = list(facet.values)
        values += [(value, 0) for value in taken if value not in dict(values)]
        if not values:
            continue
        most = sum(n for _, n in values) if facet.field not in ("tool", "model") else max(n for _, n in values)
        shown.append(
            (
                LABELS[facet.field],
                [
                    Choice(
                        value=value, label=label(facet.field, value), runs=n, share=n / most if most else 0,
                        chosen=value in taken, link=links.change(q=toggled(query, facet.field, value)),
                    )
                    for value, n in values
                ],
            )
        )  # fmt: skip
    return shown


def label(field: str, value: str) -> str:
    return {"status": STATUS_WORDS, "costliest": STAGE_LABELS}.get(field, {}).get(value, value)


def wall_choices(query: Query, links: Links) -> list[Choice]:
    """Least wall times to choose from."""
    shown = []
    for text in WALLS:
        found = read_amount(text, (Unit.NS,))
        assert found
        taken = any(term.text == f"wall>={text}" for term in query.terms)
        words = f"{duration(int(found[1]))}".replace(".00", "").replace(".0", "").replace("\u202f00\u202fs", "")
        link = links.change(q=replaced(query, "wall", "" if taken else f"wall>={text}"))
        shown.append(Choice(value=text, label=words, runs=None, share=0, chosen=taken, link=link))
    return shown

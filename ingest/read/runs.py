"""Lists of runs: filters, order, pages by cursor."""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from ingest.prices import read_pricing
from ingest.read import attributes
from ingest.read.budget import Budget
from ingest.read.costing import cost_sql, price_runs
from ingest.read.heights import Heights
from ingest.read.query.fields import STAGES
from ingest.read.query.parser import parse
from ingest.read.query.sql import equal_sql, query_sql
from ingest.read.query.terms import BadQuery, Query
from ingest.read.rows import RUN_LIST_COLUMNS, as_run, select
from ingest.read.values import RunPage
from ingest.read.windows import Window, windows
from ingest.rows import models_sql, tools_sql
from ingest.scope import Scope
from ingest.snapshot import snapshot

LIMIT_MOST = 500
DAY_NS = 86_400 * 10**9
GRACE_NS = 7 * DAY_NS
LAST_NS = 2**63 - 1
BUDGET_S = 3.0  # for looking where no index and no rollup tells
WINDOWS_AT_ONCE = 64
WHOLE_TRACE = 32  # hex digits

# Each order ends in the run's identity, so that a cursor names one place. What is not known comes last either way.
_BY = {
    "wall": "wall_ns",
    "ttft": "ttft_ns",
    "first_token": "first_token_ns",
    "ttft_sum": "ttft_sum_ns",
    "rounds": "rounds",
    "tools": "tool_count",
    "spans": "spans",
    "tokens": "input_tokens",
    "tokens_out": "output_tokens",
    **{stage: f"{stage}_ns" for stage in STAGES},
}
ORDERS = {
    "newest": "end_unix_ns",
    "slowest": "wall_ns",
    **{name: f"coalesce({column}, -1)" for name, column in _BY.items() if name != "wall"},
    "oldest": "-end_unix_ns",
    "fastest": "-wall_ns",
    **{f"{name}.up": f"coalesce(-{column}, {-(2**62)})" for name, column in _BY.items() if name != "wall"},
}


# Of these rollups tell how high the highest of an hour is.
HEIGHTS = {
    "slowest": "wall", "ttft": "ttft", "first_token": "first_token", "ttft_sum": "ttft_sum", "tokens": "input_tokens",
    "tokens_out": "output_tokens", **{stage: stage for stage in STAGES},
}  # fmt: skip


class BadFilter(ValueError):
    """A filter that cannot be read; the message says which and what is expected. ``at`` is the character of ``q``, from
    0, at which it cannot."""

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs, in which order. Runs count in the window in which they end; None means any. ``among`` are trace and
    root span of those for which the query's terms on attributes hold, found beforehand (``attributes.py``)."""

    from_unix_ns: int | None = None
    to_unix_ns: int | None = None
    service: str | None = None
    version: str | None = None
    environment: str | None = None
    agent: str | None = None
    model: str | None = None
    tool: str | None = None
    session: str | None = None
    user: str | None = None
    status: str | None = None
    min_wall_ns: int | None = None
    q: str | None = None
    sort: str = "newest"
    cursor: str | None = None
    limit: int = 50
    among: frozenset[tuple[bytes, bytes]] | None = None

    @property
    def query(self) -> Query:
        """What ``q`` says. Raises BadFilter."""
        try:
            return parse(self.q or "")
        except BadQuery as bad:
            raise BadFilter(f"q, character {bad.at + 1}: {bad.message}", bad.at) from bad


def find_runs(
    scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float = BUDGET_S, most_hours: int | None = None
) -> RunPage:
    """One page of runs. Raises BadFilter for an order, status or cursor that does not exist.

    An index gives the newest runs, those of a session and those of a user. Others are looked for newest first where
    they may be, until the time is up; then ``looked_from_unix_ns`` says how far that came. Where an order is by
    what rollups know the highest of, ``most_hours`` ends the search too: many may be as high, as far as bins tell.
    """
    order = ORDERS.get(wanted.sort)
    if order is None:
        raise BadFilter(f"sort={wanted.sort!r}: expected one of {', '.join(ORDERS)}")
    if wanted.query.of_attributes and wanted.among is None:
        return _with_attributes(scope, wanted, now_ns, budget_s)
    if "open" in (wanted.status, wanted.query.only("status")):
        order += " + 0"  # those in flight have an index: no walk through all by time in hope of meeting them
    where, parameters = conditions(scope, wanted, now_ns)
    place = _read_cursor(wanted.cursor) if wanted.cursor else None
    if place:
        where += f" AND ({order}, trace_id, root_span_id) < (%s, %s, %s)"
        parameters += place
    limit = max(1, min(wanted.limit, LIMIT_MOST))
    page = _Page(
        f"""SELECT {", ".join(RUN_LIST_COLUMNS)}, {order} AS place FROM ingest_run WHERE {where}""",
        f"ORDER BY place DESC, trace_id DESC, root_span_id DESC LIMIT {limit + 1}", parameters,
    )  # fmt: skip
    looked_from_ns: int | None = None
    by_time = wanted.sort == "newest"
    with snapshot() as cursor:
        if _has_index(wanted):
            rows = page.rows()
        else:
            before_ns = LAST_NS if wanted.to_unix_ns is None else wanted.to_unix_ns
            before_ns = min(before_ns, place[0] + 1) if place and by_time else before_ns
            budget = Budget(budget_s)
            if wanted.sort in HEIGHTS:
                heights = Heights(cursor, scope.project_id, wanted, HEIGHTS[wanted.sort], before_ns)
                rows, looked_from_ns = page.search_highest(cursor, heights, limit + 1, budget, most_hours)
            else:
                spaces = windows(cursor, scope.project_id, wanted, before_ns, now_ns)
                rows, looked_from_ns = page.search(cursor, spaces, limit + 1 if by_time else None, before_ns, budget)
        more = len(rows) > limit
        rows = rows[:limit]
        runs = [as_run(row, now_ns) for row in rows]
        price_runs(scope, read_pricing(scope), runs, rows)
    last = _cursor(rows[-1]) if more else None
    if looked_from_ns is not None and not more and by_time:
        last = _cursor({"place": looked_from_ns, "trace_id": b"", "root_span_id": b""})
    return RunPage(runs=runs, next_cursor=last, looked_from_unix_ns=looked_from_ns)


def _with_attributes(scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float) -> RunPage:
    """A page of the runs whose spans have what is asked for. In order of time no more are looked for than it shows."""
    by_time, limit = wanted.sort == "newest", max(1, min(wanted.limit, LIMIT_MOST))
    place = _read_cursor(wanted.cursor) if wanted.cursor and by_time else None
    before_ns = LAST_NS if wanted.to_unix_ns is None else wanted.to_unix_ns
    asked = replace(wanted, to_unix_ns=min(before_ns, place[0] + 1)) if place else wanted
    enough = limit + 2 if by_time else None  # the place itself, and one that says there are more
    found = attributes.find(scope, asked, now_ns, budget_s, narrowed_by(scope, now_ns), enough)
    page = find_runs(scope, replace(wanted, among=found.runs), now_ns, budget_s)
    if found.looked_from_ns is not None and not (by_time and page.next_cursor):
        page.looked_from_unix_ns = found.looked_from_ns
        if by_time:
            page.next_cursor = _cursor({"place": found.looked_from_ns, "trace_id": b"", "root_span_id": b""})
    return page


def narrowed_by(scope: Scope, now_ns: int) -> Callable[[RunFilter], tuple[str, list[Any]]]:
    return lambda wanted: conditions(scope, wanted, now_ns)


def _has_index(wanted: RunFilter) -> bool:
    """Whether an index gives the runs in their order, so that no more are read than are shown."""
    query = wanted.query
    if wanted.among is not None:
        return True
    if any(getattr(wanted, name) is not None or query.only(name) is not None for name in ("session", "user")):
        return True  # of these there are not many
    if wanted.status == "open" or query.only("status") == "open" or len(query.only("trace") or "") == WHOLE_TRACE:
        return True
    narrowing = ("service", "version", "environment", "agent", "model", "tool", "status", "min_wall_ns")
    return wanted.sort == "newest" and not query and not any(getattr(wanted, name) is not None for name in narrowing)


@dataclass(frozen=True, slots=True)
class _Page:
    """A query whose rows are looked for in windows of time."""

    narrowed: str
    order: str
    parameters: list[Any]

    def rows(self) -> list[dict[str, Any]]:
        return select(f"{self.narrowed} {self.order}", self.parameters)

    def search(
        self, cursor: Any, spaces: Iterator[Window], enough: int | None, before_ns: int, budget: Budget
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Rows in order, and from when on all were looked at if the time was up before all were. The first window is
        looked at alone, since it mostly does; then more and more together."""
        found: list[dict[str, Any]] = []
        at_once = 1
        while together := list(islice(spaces, at_once)):
            rows = budget.ask(cursor, partial(self._within, together))
            if rows is None:
                return found, before_ns
            found += rows
            if enough is None:
                found.sort(key=_place, reverse=True)
                del found[LIMIT_MOST + 1 :]
            elif len(found) >= enough:
                return found, None
            before_ns, at_once = together[-1].from_ns, min(2 * at_once, WINDOWS_AT_ONCE)
        return found, None

    def search_highest(
        self, cursor: Any, heights: Heights, enough: int, budget: Budget, most_hours: int | None
    ) -> tuple[list[dict[str, Any]], int | None]:
        """Rows in order, from where the highest are to where all are lower than those that were found. If the time is
        up before, until when there were some at which nobody has looked."""
        found: list[dict[str, Any]] = []
        spaces, at_once, looked_at = iter(heights), 1, 0
        while together := list(islice(spaces, at_once)):
            if len(found) >= enough:
                together = [height for height in together if height.most >= found[enough - 1]["place"]]
                if not together:
                    break
            looked_at += len(together)
            is_too_far = most_hours is not None and looked_at > most_hours
            ask = partial(self._within, [height.window for height in together])
            if is_too_far or (rows := budget.ask(cursor, ask)) is None:
                return found, max(heights.latest_ns(), *(height.window.to_ns for height in together))
            found = sorted(found + rows, key=_place, reverse=True)[: LIMIT_MOST + 1]
            at_once = min(2 * at_once, WINDOWS_AT_ONCE)
        return found, None

    def _within(self, together: list[Window]) -> list[dict[str, Any]]:
        return select(
            f"""SELECT found.* FROM unnest(%s::bigint[], %s::bigint[]) AS space (from_ns, to_ns) CROSS JOIN LATERAL (
                    {self.narrowed} AND day >= %s AND end_unix_ns >= space.from_ns AND end_unix_ns < space.to_ns
                    {self.order}
                ) AS found {self.order}""",
            [
                [window.from_ns for window in together], [window.to_ns for window in together], *self.parameters,
                first_day(min(window.from_ns for window in together)),
            ],
        )  # fmt: skip


def _place(row: dict[str, Any]) -> tuple[int, bytes, bytes]:
    return row["place"], bytes(row["trace_id"]), bytes(row["root_span_id"])


def conditions(scope: Scope, wanted: RunFilter, now_ns: int) -> tuple[str, list[Any]]:
    """The WHERE of a filter, beginning with the scope. Raises BadFilter."""
    where, parameters = scope.where()
    parts, values = [where], list(parameters)

    def narrow(condition: str, *more: Any) -> None:
        parts.append(condition)
        values.extend(more)

    if wanted.from_unix_ns is not None:
        narrow("end_unix_ns >= %s", wanted.from_unix_ns)
        narrow("day >= %s", first_day(wanted.from_unix_ns))
    if wanted.to_unix_ns is not None:
        narrow("end_unix_ns < %s", wanted.to_unix_ns)
    for field, column in _EQUALITIES.items():
        if (value := getattr(wanted, field)) is not None:
            equal, values_of = equal_sql(column, value)
            narrow(equal, *values_of)
    if wanted.tool is not None:
        narrow(f"%s = ANY({tools_sql('ingest_run')})", wanted.tool)
    if wanted.model is not None:
        narrow(f"%s = ANY({models_sql('ingest_run')})", wanted.model)
    if wanted.min_wall_ns is not None:
        narrow("wall_ns >= %s", wanted.min_wall_ns)
    if wanted.status is not None:
        narrow(*_status(wanted.status, now_ns))
    query = wanted.query
    if of_attributes := query.of_attributes:
        if wanted.among is None:
            raise BadFilter(f"q: {of_attributes[0].text} cannot be asked here: attributes are looked for in spans")
        query = query.without(*of_attributes)
        narrow(
            "(trace_id, root_span_id) IN (SELECT * FROM unnest(%s::bytea[], %s::bytea[]))",
            [trace_id for trace_id, _ in wanted.among], [root for _, root in wanted.among],
        )  # fmt: skip
    if query:
        for condition, more in query_sql(query, now_ns, _cost(scope) if any(query.of("cost")) else None):
            narrow(condition, *more)
    return " AND ".join(parts), values


def _cost(scope: Scope) -> tuple[str, list[Any]]:
    pricing = read_pricing(scope)
    if not pricing:
        raise BadFilter("q: cost cannot be asked for: there are no prices; an administrator sets them in Settings")
    return cost_sql(pricing)


_EQUALITIES = {
    "service": "service", "version": "version", "environment": "environment", "agent": "agent",
    "session": "session_id", "user": "user_id",
}  # fmt: skip


def _status(status: str, now_ns: int) -> tuple[Any, ...]:
    if status == "open":
        return "NOT root_ended AND settles_unix_ns > %s", now_ns
    if status in ("ok", "error"):
        return ("failed" if status == "error" else "NOT failed",)
    raise BadFilter(f"status={status!r}: expected one of ok, error, open")


def first_day(from_unix_ns: int) -> dt.date:
    """From which partition on to look for what ended at an instant or later. Its trace was received after that, but
    for spans that came before: a week's grace for runs that long, and for clocks."""
    first, last = dt.date(1970, 1, 1), dt.date(9999, 1, 1)
    return min(last, first + dt.timedelta(days=max(0, min((from_unix_ns - GRACE_NS) // DAY_NS, 2_900_000))))


def _cursor(row: dict[str, Any]) -> str:
    place = [row["place"], bytes(row["trace_id"]).hex(), bytes(row["root_span_id"]).hex()]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> list[Any]:
    try:
        place, trace_id, root_span_id = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        return [int(place), bytes.fromhex(trace_id), bytes.fromhex(root_span_id)]
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise BadFilter("cursor: not one that this API gave; leave it out to begin at the first page") from error

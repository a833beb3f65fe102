"""Lists of runs: filters, order, pages by cursor, and facets."""

from __future__ import annotations

import base64
import datetime as dt
import json
from dataclasses import dataclass, replace
from typing import Any

from ingest.read.rows import RUN_LIST_COLUMNS, as_run, select
from ingest.read.values import Facet, RunPage
from ingest.scope import Scope

LIMIT_MOST = 500
FACETS = ("service", "agent", "model", "tool", "status", "environment", "version")
FACET_VALUES = 12
DAY_NS = 86_400 * 10**9
GRACE_NS = 7 * DAY_NS

# Each order ends in the run's identity, so that a cursor names one place.
ORDERS = {
    "newest": "end_unix_ns",
    "slowest": "wall_ns",
    "ttft": "coalesce(ttft_ns, -1)",
    "tokens": "coalesce(input_tokens, -1)",
}


class BadFilter(ValueError):
    """A filter that cannot be read; the message says which and what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs, in which order. Runs count in the window in which they end; None means any."""

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


def find_runs(scope: Scope, wanted: RunFilter, now_ns: int) -> RunPage:
    """One page of runs. Raises BadFilter for an order, status or cursor that does not exist."""
    order = ORDERS.get(wanted.sort)
    if order is None:
        raise BadFilter(f"sort={wanted.sort!r}: expected one of {', '.join(ORDERS)}")
    where, parameters = conditions(scope, wanted, now_ns)
    if wanted.cursor:
        where += f" AND ({order}, trace_id, root_span_id) < (%s, %s, %s)"
        parameters += _read_cursor(wanted.cursor)
    limit = max(1, min(wanted.limit, LIMIT_MOST))
    rows = select(
        f"""SELECT {", ".join(RUN_LIST_COLUMNS)}, {order} AS place FROM ingest_run WHERE {where}
            ORDER BY {order} DESC, trace_id DESC, root_span_id DESC LIMIT %s""",
        [*parameters, limit + 1],
    )
    more = len(rows) > limit
    rows = rows[:limit]
    return RunPage(runs=[as_run(row, now_ns) for row in rows], next_cursor=_cursor(rows[-1]) if more else None)


def count_runs(scope: Scope, wanted: RunFilter, now_ns: int) -> int:
    where, parameters = conditions(scope, wanted, now_ns)
    return int(select(f"SELECT count(*) AS n FROM ingest_run WHERE {where}", parameters)[0]["n"])


def facets(scope: Scope, wanted: RunFilter, now_ns: int) -> list[Facet]:
    """The values that runs have, with their counts, most first. A field's own filter does not narrow its facet,
    so that its other values stay in reach."""
    return [Facet(field=name, values=_facet(scope, wanted, name, now_ns)) for name in FACETS]


def _facet(scope: Scope, wanted: RunFilter, name: str, now_ns: int) -> list[tuple[str, int]]:
    value = {
        "tool": "unnest(tool_names)",
        "model": "unnest(model_names)",
        "status": "CASE WHEN failed THEN 'error' ELSE 'ok' END",
    }.get(name, name)
    where, parameters = conditions(scope, replace(wanted, **{name: None}), now_ns)
    rows = select(
        f"""SELECT value, count(*) AS n FROM (SELECT {value} AS value FROM ingest_run WHERE {where}) AS found
            WHERE value IS NOT NULL GROUP BY value ORDER BY n DESC, value LIMIT %s""",
        [*parameters, FACET_VALUES],
    )
    return [(row["value"], row["n"]) for row in rows]


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
            narrow(f"{column} = %s", value)
    if wanted.tool is not None:
        narrow("%s = ANY(tool_names)", wanted.tool)
    if wanted.model is not None:
        narrow("%s = ANY(model_names)", wanted.model)
    if wanted.min_wall_ns is not None:
        narrow("wall_ns >= %s", wanted.min_wall_ns)
    if wanted.status is not None:
        narrow(*_status(wanted.status, now_ns))
    if wanted.q:
        like = "%" + wanted.q.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        columns = ("name", "service", "agent", "session_id", "user_id", "error", "encode(trace_id, 'hex')")
        narrow("(" + " OR ".join(f"{column} ILIKE %s" for column in columns) + ")", *[like] * len(columns))
    return " AND ".join(parts), values


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

"""One run, whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ingest.packed import Detail, unpack_detail
from ingest.prices import read_pricing
from ingest.read.costing import price_run
from ingest.read.rows import (
    CALLS,
    RUN_LIST_COLUMNS,
    TOOLS,
    as_calls,
    as_run,
    as_run_detail,
    as_tools,
    select,
    select_tuples,
)
from ingest.read.values import CallPlace, RunDetail, RunRow, WarningRow
from ingest.scope import Scope
from ingest.snapshot import snapshot

Rows = Sequence[Sequence[Any]]
_RUN_ID = re.compile(r"([0-9a-f]{32})-([0-9a-f]{16})")
_ID = 0  # where rows of calls and tools have their span's
_SPAN_ID = re.compile(r"[0-9a-f]{16}")


def split_run_id(run_id: str) -> tuple[bytes, bytes] | None:
    """Trace id and root span id, or None for what is no run id."""
    found = _RUN_ID.fullmatch(run_id.lower())
    return (bytes.fromhex(found[1]), bytes.fromhex(found[2])) if found else None


def run_row(scope: Scope, run_id: str, now_ns: int) -> RunRow | None:
    """The run without its calls, tools, warnings, phases and costs; None where the scope has no such run."""
    ids = split_run_id(run_id)
    if ids is None:
        return None
    key, values = _key(scope, ids)
    rows = select(f"SELECT {', '.join(RUN_LIST_COLUMNS)} FROM ingest_run WHERE {key}", values)
    return as_run(rows[0], now_ns) if rows else None


def run_detail(scope: Scope, run_id: str, now_ns: int) -> RunDetail | None:
    """The run with its calls, tools, warnings and phases; None where the scope has no such run."""
    ids = split_run_id(run_id)
    if ids is None:
        return None
    key, values = _key(scope, ids)
    in_order = f"WHERE {_item_key(scope)} ORDER BY start_unix_ns, span_id"
    with snapshot():
        rows = select(f"SELECT * FROM ingest_run WHERE {key}", values)
        if not rows:
            return None
        calls = select_tuples(f"SELECT {CALLS} FROM ingest_call {in_order}", values)
        tools = select_tuples(f"SELECT {TOOLS} FROM ingest_tool {in_order}", values)
        pricing = read_pricing(scope)
    run = as_run_detail(rows[0], now_ns)
    _tell(run, unpack_detail(rows[0]["detail"], [row[_ID] for row in (*calls, *tools)]), calls, tools)
    price_run(pricing, run)
    return run


def run_about(scope: Scope, run_id: str, span_id: str, now_ns: int) -> tuple[RunDetail, list[CallPlace]] | None:
    """The run with what it knows of one span alone, whose costs are not told, and the places of all of its calls: a
    run may have tens of thousands of calls and tools, and whoever looks at one does not wait for them."""
    ids = split_run_id(run_id)
    if ids is None or not _SPAN_ID.fullmatch(span_id):
        return None
    key, values = _key(scope, ids)
    of_run, only = _item_key(scope), [*values, bytes.fromhex(span_id)]
    with snapshot():
        rows = select(f"SELECT * FROM ingest_run WHERE {key}", values)
        if not rows:
            return None
        calls = select_tuples(f"SELECT {CALLS} FROM ingest_call WHERE {of_run} AND span_id = %s", only)
        tools = select_tuples(f"SELECT {TOOLS} FROM ingest_tool WHERE {of_run} AND span_id = %s", only)
        places = select(
            f"""SELECT encode(span_id, 'hex') AS span_id, round, scope, start_unix_ns FROM ingest_call
                WHERE {of_run} ORDER BY start_unix_ns, ingest_call.span_id""",
            values,
        )
        run = as_run_detail(rows[0], now_ns)
        if calls or tools or run.warning_count:
            ids = [*(place["span_id"] for place in places), *_span_ids("tool", of_run, values)]
            _tell(run, unpack_detail(rows[0]["detail"], ids), calls, tools, only=span_id)
    return run, [CallPlace(**place) for place in places]


def _key(scope: Scope, ids: tuple[bytes, bytes]) -> tuple[str, list[object]]:
    """The SQL condition that is true of one run's rows, and its parameters."""
    where, parameters = scope.where()
    return f"{where} AND trace_id = %s AND root_span_id = %s", [*parameters, *ids]


def _item_key(scope: Scope) -> str:
    """The condition that is true of the rows of a stored run's calls or tools, by the same parameters."""
    return f"{scope.where()[0]} AND trace_id = %s AND coalesce(nullif(root_span_id, '') = %s, true)"


def _tell(run: RunDetail, detail: Detail, calls: Rows, tools: Rows, only: str | None = None) -> None:
    """Put in what these rows and the run's detail say; of warnings and phases all, or ``only`` those of one span."""
    run.calls = as_calls(calls, detail, run.model)
    run.tools = as_tools(tools, detail)
    run.warnings = [
        WarningRow(code=code, text=text, span_id=of) for code, text, of in detail.warnings if only in (None, of)
    ]
    run.phases = detail.phases if only is None else [phase for phase in detail.phases if phase.span_id == only]


def current_run_id(scope: Scope, run_id: str) -> str | None:
    """Where a run id leads now: itself, or, where a late parent has replaced its root, the run that took over.

    That is the run which holds the old root as a call, tool or phase, else the trace's first run.
    """
    ids = split_run_id(run_id)
    if ids is None:
        return None
    trace_id, root_span_id = ids
    where, parameters = scope.where()
    rows = select(
        f"""SELECT root_span_id, detail FROM ingest_run WHERE {where} AND trace_id = %s
            ORDER BY start_unix_ns, root_span_id""",
        [*parameters, trace_id],
    )
    roots = [bytes(row["root_span_id"]) for row in rows]
    if not roots:
        return _run_of_client(scope, trace_id, root_span_id)
    if root_span_id in roots:
        chosen = root_span_id
    else:
        holding = (root for root, row in zip(roots, rows, strict=True)
                   if _holds(scope, (trace_id, root), row["detail"], root_span_id.hex()))  # fmt: skip
        chosen = next(holding, roots[0])
    return f"{trace_id.hex()}-{chosen.hex()}"


def _holds(scope: Scope, ids: tuple[bytes, bytes], detail: bytes, span_id: str) -> bool:
    """Whether any time of a run is this span's."""
    of_run, values = _item_key(scope), [*scope.where()[1], *ids]
    told = unpack_detail(detail, [*_span_ids("call", of_run, values), *_span_ids("tool", of_run, values)])
    return any(phase.span_id == span_id for phase in told.phases)


def _span_ids(items: str, of_run: str, values: list[object]) -> list[str]:
    """Of all calls or tools of a run, in the order in which its detail names them."""
    rows = select_tuples(f"SELECT span_id FROM ingest_{items} WHERE {of_run} ORDER BY start_unix_ns, span_id", values)
    return [bytes(span_id).hex() for (span_id,) in rows]


def _run_of_client(scope: Scope, trace_id: bytes, span_id: bytes) -> str | None:
    """The run whose call has claimed an engine's span that once was a run of its own."""
    where, parameters = scope.where("run")
    rows = select(
        f"""SELECT run.trace_id, run.root_span_id FROM ingest_engine_span AS offer
            JOIN ingest_run AS run ON run.trace_id = offer.client_trace_id AND run.project_id = offer.project_id
            WHERE {where} AND offer.trace_id = %s AND offer.span_id = %s ORDER BY run.start_unix_ns LIMIT 1""",
        [*parameters, trace_id, span_id],
    )
    return f"{bytes(rows[0]['trace_id']).hex()}-{bytes(rows[0]['root_span_id']).hex()}" if rows else None

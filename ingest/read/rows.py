"""Table rows as the read layer's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection

from ingest.packed import SOURCE_NAMES, Detail, unpack_summary
from ingest.read.values import CallRow, RunDetail, RunRow, ToolRow
from ingest.rows import AS_ITS_RUN, RUN_COLUMNS, tool_names
from ingest.stages.model import Outside, Stage

RUN_LIST_COLUMNS = tuple(column for column in RUN_COLUMNS if column not in ("detail", "basis"))


def select(sql: str, parameters: list[Any]) -> list[dict[str, Any]]:
    """The rows of a query as dicts by column."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def select_tuples(sql: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
    """The rows of a query as tuples, where there may be many thousands."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchall()


def run_values(row: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """The fields of a RunRow. ``provisional`` is decided here and now: a run settles without a write."""
    trace_id, root_span_id = bytes(row["trace_id"]).hex(), bytes(row["root_span_id"]).hex()
    same = (
        "session_id", "user_id", "name", "service", "agent", "version", "environment", "model", "engine",
        "error", "root_ended", "start_unix_ns", "end_unix_ns", "wall_ns", "ttft_ns", "first_token_ns", "ttft_sum_ns",
        "rounds", "spans", "input_tokens", "cached_tokens", "output_tokens", "tool_count", "tool_failures",
        "warning_count",
    )  # fmt: skip
    return (
        {name: row[name] for name in same}
        | unpack_summary(row)
        | {
            "run_id": f"{trace_id}-{root_span_id}",
            "trace_id": trace_id,
            "root_span_id": root_span_id,
            "tool_names": tool_names(row["tool_names"]),
            "models": row["model_names"] if row["model_names"] is not None else [row["model"]] if row["model"] else [],
            "status": "error" if row["failed"] else "ok",
            "provisional": now_ns < row["settles_unix_ns"],
            "stages_ns": {stage.value: row[f"{stage}_ns"] for stage in Stage},
            "outside_ns": {outside.value: row[f"{outside}_ns"] for outside in Outside},
        }
    )


def as_run(row: Mapping[str, Any], now_ns: int) -> RunRow:
    return RunRow(**run_values(row, now_ns))


def as_run_detail(row: Mapping[str, Any], now_ns: int) -> RunDetail:
    return RunDetail(**run_values(row, now_ns))


# A run may have tens of thousands of calls and tools. Their queries ask for the fields in the order in which the values
# have them, so that a row becomes a value in one step; what the run's detail tells is written in afterwards.
_WORKED_OUT = {
    "span_id": "encode(span_id, 'hex')",
    "error": "nullif(error, '')",
    "wall_ns": "end_unix_ns - start_unix_ns",
    "first_token_unix_ns": "start_unix_ns + ttft_ns",
    **dict.fromkeys(("parent_span_id", "provider", "transport_ns", "finish_reason", "engine_state", "cost"), "NULL"),
}


def _columns(fields: Iterable[str]) -> str:
    return ", ".join(_WORKED_OUT.get(name, name) for name in fields)


CALLS, TOOLS = _columns(CallRow.__struct_fields__), _columns(ToolRow.__struct_fields__)


def as_calls(rows: Iterable[Sequence[Any]], detail: Detail, of_run: str | None) -> list[CallRow]:
    """Of rows of ``CALLS``, of a run of this model."""
    calls, told_of = [CallRow(*row) for row in rows], detail.calls
    for call in calls:
        told = told_of[call.span_id]
        if call.model == AS_ITS_RUN:
            call.model = of_run
        call.source = SOURCE_NAMES[call.source]  # type: ignore[call-overload]  # a place among them, as it is stored
        call.parent_span_id, call.transport_ns = told.parent_span_id, told.transport_ns
        call.provider, call.finish_reason = told.provider, told.finish_reason
    return calls


def as_tools(rows: Iterable[Sequence[Any]], detail: Detail) -> list[ToolRow]:
    """Of rows of ``TOOLS``."""
    tools, transports_ns = [ToolRow(*row) for row in rows], detail.transports_ns
    for tool in tools if transports_ns else ():
        tool.transport_ns = transports_ns.get(tool.span_id)
    return tools

"""Table rows as the read layer's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection

from ingest.packed import SOURCE_NAMES, Detail, unpack_summary
from ingest.read.values import CallRow, RunDetail, RunRow, ToolRow
from ingest.rows import AS_ITS_RUN, CALL_COLUMNS, RUN_COLUMNS, TOOL_COLUMNS
from ingest.stages.model import Outside, Stage

RUN_LIST_COLUMNS = tuple(column for column in RUN_COLUMNS if column not in ("detail", "basis"))


def select(sql: str, parameters: list[Any]) -> list[dict[str, Any]]:
    """The rows of a query as dicts by column."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def run_values(row: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """The fields of a RunRow. ``provisional`` is decided here and now: a run settles without a write."""
    trace_id, root_span_id = bytes(row["trace_id"]).hex(), bytes(row["root_span_id"]).hex()
    same = (
        "session_id", "user_id", "name", "service", "agent", "version", "environment", "model", "engine", "tool_names",
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


# A run may have thousands of calls and tools: their other columns are taken over in one step.
_NOT_SHOWN = {"day", "project_id", "trace_id", "root_span_id", "span_id", "end_unix_ns", "response_hash"}
_CALL_SHOWN = tuple(name for name in CALL_COLUMNS if name not in _NOT_SHOWN | {"source", "model"})
_TOOL_SHOWN = tuple(name for name in TOOL_COLUMNS if name not in _NOT_SHOWN)


def as_call(row: Mapping[str, Any], detail: Detail, of_run: str | None) -> CallRow:
    """``of_run`` is its run's model."""
    span_id, ttft_ns = bytes(row["span_id"]).hex(), row["ttft_ns"]
    told = detail.calls[span_id]
    return CallRow(
        span_id=span_id, wall_ns=row["end_unix_ns"] - row["start_unix_ns"], parent_span_id=told.parent_span_id,
        transport_ns=told.transport_ns, provider=told.provider, finish_reason=told.finish_reason,
        first_token_unix_ns=None if ttft_ns is None else row["start_unix_ns"] + ttft_ns,
        source=SOURCE_NAMES[row["source"]], model=of_run if row["model"] == AS_ITS_RUN else row["model"],
        **{name: row[name] for name in _CALL_SHOWN},
    )  # fmt: skip


def as_tool(row: Mapping[str, Any], detail: Detail) -> ToolRow:
    span_id = bytes(row["span_id"]).hex()
    return ToolRow(
        span_id=span_id, wall_ns=row["end_unix_ns"] - row["start_unix_ns"],
        transport_ns=detail.transports_ns.get(span_id), **{name: row[name] for name in _TOOL_SHOWN},
    )  # fmt: skip

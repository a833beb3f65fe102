"""Table rows as the read layer's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import connection
from psycopg.types.json import JsonbLoader

from ingest.read.values import CallRow, RunDetail, RunRow, ToolRow
from ingest.rows import CALL_COLUMNS, RUN_COLUMNS, SOURCES, TOOL_COLUMNS
from ingest.stages.model import Outside, Stage

RUN_LIST_COLUMNS = tuple(column for column in RUN_COLUMNS if column != "phases")


def select(sql: str, parameters: list[Any]) -> list[dict[str, Any]]:
    """The rows of a query as dicts by column."""
    with connection.cursor() as cursor:
        cursor.adapters.register_loader("jsonb", JsonbLoader)  # which Django leaves to its models
        cursor.execute(sql, parameters)
        names = [column.name for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def run_values(row: Mapping[str, Any], now_ns: int) -> dict[str, Any]:
    """The fields of a RunRow. ``provisional`` is decided here and now: a run settles without a write."""
    detail = row["detail"]
    tool_count, tool_failures = detail.get("tools", (0, 0))
    trace_id, root_span_id = bytes(row["trace_id"]).hex(), bytes(row["root_span_id"]).hex()
    same = (
        "session_id", "user_id", "name", "service", "agent", "version", "environment", "model", "engine", "tool_names",
        "error", "root_ended", "start_unix_ns", "end_unix_ns", "wall_ns", "ttft_ns", "first_token_ns", "ttft_sum_ns",
        "rounds", "spans", "input_tokens", "cached_tokens", "output_tokens",
    )  # fmt: skip
    return {name: row[name] for name in same} | {
        "run_id": f"{trace_id}-{root_span_id}",
        "trace_id": trace_id,
        "root_span_id": root_span_id,
        "models": row["model_names"],
        "status": "error" if row["failed"] else "ok",
        "provisional": now_ns < row["settles_unix_ns"],
        "stages_ns": {stage.value: row[f"{stage}_ns"] for stage in Stage},
        "outside_ns": {outside.value: row[f"{outside}_ns"] for outside in Outside},
        "busy_ns": {stage.value: detail["busy_ns"].get(stage, 0) for stage in Stage},
        "sources": {stage.value: detail["sources"].get(stage) for stage in Stage},
        "sources_ns": {stage.value: detail["sources_ns"].get(stage, {}) for stage in Stage},
        "tool_count": tool_count,
        "tool_failures": tool_failures,
        "warning_count": len(detail["warnings"]),
    }


def as_run(row: Mapping[str, Any], now_ns: int) -> RunRow:
    return RunRow(**run_values(row, now_ns))


def as_run_detail(row: Mapping[str, Any], now_ns: int) -> RunDetail:
    return RunDetail(**run_values(row, now_ns))


_NOT_SHOWN = {"day", "project_id", "trace_id", "root_span_id", "end_unix_ns"}


def as_call(row: Mapping[str, Any]) -> CallRow:
    fields = {name: row[name] for name in CALL_COLUMNS if name not in _NOT_SHOWN}
    parent = row["parent_span_id"]
    return CallRow(
        **fields
        | {
            "span_id": bytes(row["span_id"]).hex(),
            "parent_span_id": bytes(parent).hex() if parent is not None else None,
            "source": SOURCES[row["source"]].value,
        }
    )


def as_tool(row: Mapping[str, Any]) -> ToolRow:
    fields = {name: row[name] for name in TOOL_COLUMNS if name not in _NOT_SHOWN}
    return ToolRow(**fields | {"span_id": bytes(row["span_id"]).hex()})

"""Into the rollups with what a transaction writes, and out of them with what it replaces or drops.

Usually nothing is replaced: a trace is decomposed for the first time. So former rows come as JSON, one statement
telling all three tables, which costs something only where there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ingest.rollups.counting import CALL_TOLD, RUN_TOLD, TOOL_TOLD, Gathered
from ingest.rollups.packing import pack_gathered

WRITE_DELTA = "INSERT INTO ingest_rollup_delta (project_id, first_minute, last_minute, body) VALUES (%s, %s, %s, %s)"


def _array(alias: str, columns: Iterable[str]) -> str:
    said = {"basis": f"({alias}.basis IS NOT NULL)", "root_span_id": f"nullif({alias}.root_span_id, '')"}
    told = (said.get(c, f"{alias}.{c}") for c in columns)
    return f"json_build_array({', '.join(told)})"


def told_run(alias: str) -> str:
    return f"0 AS kind, {_array(alias, RUN_TOLD)} AS told"


def told_call(alias: str) -> str:
    return f"1 AS kind, {_array(alias, CALL_TOLD)} AS told"


def told_tool(alias: str) -> str:
    return f"2 AS kind, {_array(alias, TOOL_TOLD)} AS told"


def take_back(gathered: Gathered, rows: Iterable[tuple[Any, ...]]) -> None:
    """Subtract former rows, told as (kind, JSON array)."""
    by_kind: tuple[list[Any], list[Any], list[Any]] = [], [], []
    for kind, told in rows:
        by_kind[kind].append(told)
    if any(by_kind):
        gathered.add(*by_kind, -1)


def write_deltas(cursor: Any, gathered: Gathered) -> None:
    """What is counted together becomes one row a project; no row that others write is touched."""
    for delta in pack_gathered(gathered):
        cursor.execute(WRITE_DELTA, delta, prepare=True, binary=True)

"""The same cells counted from the rows themselves: what rollups are verified against, and what answers where a filter
is finer than their keys. In SQL, so that only bins leave the database."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from ingest.packed import OWNERS
from ingest.rollups.bins import bin_sql
from ingest.rollups.counting import (
    ESTIMATED_SOURCE,
    METRICS,
    SHARE_MOST_TOKENS,
    SHARE_ONE,
    Cell,
    Key,
    Kind,
)
from ingest.rollups.errors import error_kind
from ingest.rows import called_model_sql, models_sql, of_run_sql

DIMENSIONS = ("environment", "service", "version", "agent", "engine", "models", "own")


def _share(alias: str) -> str:
    share = f"{alias}.cached_tokens * {SHARE_ONE}::bigint / {alias}.input_tokens"
    return (
        f"CASE WHEN {alias}.input_tokens > 0 AND {alias}.input_tokens < {SHARE_MOST_TOKENS} "
        f"AND {alias}.cached_tokens BETWEEN 0 AND {alias}.input_tokens THEN {share} END"
    )


def _cacheable(alias: str) -> str:
    return f"CASE WHEN {alias}.cached_tokens IS NOT NULL THEN {alias}.input_tokens END"


_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
_VALUES = {
    Kind.RUN: [
        "run.wall_ns", *(f"run.{owner}_ns" for owner in OWNERS), "run.ttft_ns", "run.first_token_ns",
        "run.ttft_sum_ns", *(f"run.{tokens}" for tokens in _TOKENS), _share("run"), _cacheable("run"),
    ],
    Kind.CALL: [
        "item.end_unix_ns - item.start_unix_ns",
        *(f"item.{name}_ns" for name in ("queue", "prefill", "decode", "ttft", "tpot")),
        *(f"item.{tokens}" for tokens in _TOKENS), _share("item"), _cacheable("item"),
    ],
    Kind.TOOL: ["item.end_unix_ns - item.start_unix_ns"],
}  # fmt: skip
_FAILED = "run.failed::int"
TELLS_TOKENS = (
    "item.input_tokens >= 0 AND item.output_tokens >= 0 "
    "AND (item.cached_tokens IS NULL OR item.cached_tokens BETWEEN 0 AND item.input_tokens)"
)
_FLAGS = {
    Kind.RUN: f"{_FAILED} + CASE WHEN run.model_unsplit_ns > 0 THEN 2 ELSE 0 END "
    "+ CASE WHEN run.basis IS NULL THEN 0 ELSE 4 END + CASE WHEN run.root_ended THEN 0 ELSE 8 END",
    Kind.CALL: f"{_FAILED} + CASE WHEN item.source = {ESTIMATED_SOURCE} THEN 4 ELSE 0 END "
    f"+ CASE WHEN item.error IS NULL THEN 0 ELSE 16 END + CASE WHEN {TELLS_TOKENS} THEN 0 ELSE 32 END",
    Kind.TOOL: f"{_FAILED} + CASE item.ok WHEN true THEN 0 WHEN false THEN 16 ELSE 32 END",
}
_JOIN = (
    f" JOIN {{table}} AS item ON item.trace_id = run.trace_id AND {of_run_sql('item', 'run')} "
    "AND item.project_id = run.project_id AND item.day = run.day"
)
_FROM = {
    Kind.RUN: "",
    Kind.CALL: _JOIN.format(table="ingest_call"),
    Kind.TOOL: _JOIN.format(table="ingest_tool") + " AND NOT item.pseudo",
}
_END = {Kind.RUN: "run.end_unix_ns", Kind.CALL: "item.end_unix_ns", Kind.TOOL: "item.end_unix_ns"}
_ERROR = {Kind.RUN: "run.error", Kind.CALL: "item.error", Kind.TOOL: "nullif(item.error, '')"}
_COLUMNS = {
    "environment": dict.fromkeys(Kind, "run.environment"),
    "service": dict.fromkeys(Kind, "run.service"),
    "version": dict.fromkeys(Kind, "run.version"),
    "agent": dict.fromkeys(Kind, "run.agent"),
    "engine": {Kind.RUN: "run.engine", Kind.CALL: "item.engine", Kind.TOOL: "run.engine"},
    "models": {Kind.RUN: models_sql("run"), Kind.CALL: "'{}'::text[]", Kind.TOOL: "'{}'::text[]"},
    "own": {Kind.RUN: "NULL::text", Kind.CALL: called_model_sql("item", "run"), Kind.TOOL: "item.name"},
}
_NONE = {"models": "'{}'::text[]"}
Cells = dict[tuple[int, int, Key], Cell]  # by kind, step and key


def count_rows(
    cursor: Any,
    kind: Kind,
    bounds: Sequence[int],
    runs: str,
    parameters: Sequence[Any],
    *,
    items: Sequence[tuple[str, Sequence[Any]]] = (),
    dimensions: Collection[str] = DIMENSIONS,
    within: Sequence[tuple[int, int]] = (),
    first_day: dt.date | None = None,
) -> Cells:
    """Cells of what ended in the steps between ``bounds`` (ascending), or in parts of them, of the runs for which the
    condition ``runs`` holds, and of their calls or tools those for which all ``items`` hold. Keys tell only
    of the dimensions asked for. Partitions of days before the first need not be looked at."""
    columns = [_COLUMNS[name][kind] if name in dimensions else _NONE.get(name, "NULL::text") for name in DIMENSIONS]
    end = _END[kind]
    parts = within or [(bounds[0], bounds[-1])]
    condition = " OR ".join([f"({end} >= %s AND {end} < %s)"] * len(parts))
    told = [list(bounds), *parameters, *chain.from_iterable(parts)]
    condition = f"({condition})"
    for sql, values in items:
        condition += f" AND {sql}"
        told += values
    if first_day is not None:
        condition += f" AND run.day >= %s{'' if kind is Kind.RUN else ' AND item.day >= %s'}"
        told += [first_day] * (1 if kind is Kind.RUN else 2)
    metrics = ", ".join(f"({at}, ({value})::bigint, NULL)" for at, value in enumerate(_VALUES[kind]))
    grouped = ", ".join(str(number) for number in range(1, 6 + len(DIMENSIONS)))
    cells: Cells = {}
    cursor.execute(
        f"""SELECT width_bucket({end}, %s::bigint[]) - 1 AS step, {_FLAGS[kind]} AS flags, {", ".join(columns)},
                   told.metric, {bin_sql("told.value")} AS bin, told.error, count(*), sum(told.value)
            FROM (SELECT * FROM ingest_run WHERE {runs}) AS run {_FROM[kind]}
            CROSS JOIN LATERAL (VALUES {metrics}, (-1, NULL, {_ERROR[kind]})) AS told (metric, value, error)
            WHERE {condition} AND (told.value IS NOT NULL OR told.error IS NOT NULL) GROUP BY {grouped}""",
        told,
    )
    for step, flags, *key, metric, bin_, error, count, sum_ in cursor.fetchall():
        cell = _cell(cells, kind, step, flags, key)
        if error is not None:
            cell.errors[error_kind(error)] = cell.errors.get(error_kind(error), 0) + count
            continue
        into = cell.bins[metric]
        into[bin_] = into.get(bin_, 0) + count
        cell.sums[metric] += int(sum_)
    return cells


def _cell(cells: Cells, kind: Kind, step: int, flags: int, key: Sequence[Any]) -> Cell:
    """Two orders of a run's models are one key."""
    environment, service, version, agent, engine, models, own = key
    place = (
        int(kind), step, Key(flags, environment, service, version, agent, engine, tuple(sorted(set(models))), own)
    )  # fmt: skip
    if place not in cells:
        cells[place] = Cell.of(kind)
    return cells[place]


assert all(len(_VALUES[kind]) == len(METRICS[kind]) for kind in Kind)

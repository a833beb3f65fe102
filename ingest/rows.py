"""Runs, calls and tools as table rows, and the replacing of a trace's rows by new ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import msgspec
import zstandard
from psycopg.types.json import Jsonb

from ingest.stages.decompose import ALGORITHM
from ingest.stages.model import Call, Outside, Phase, Run, Source, Stage, Tool

BIGINT_MAX = 2**63 - 1
OWNERS: tuple[Stage | Outside, ...] = (*Stage, *Outside)
SOURCES: tuple[Source, ...] = tuple(Source)

RUN_COLUMNS = (
    "day", "project_id", "trace_id", "root_span_id", "start_unix_ns", "end_unix_ns", "wall_ns", "settles_unix_ns",
    *(f"{owner}_ns" for owner in OWNERS), "ttft_ns", "first_token_ns", "ttft_sum_ns", "input_tokens",
    "cached_tokens", "output_tokens", "rounds", "spans", "root_ended", "failed", "name", "service", "agent",
    "version", "environment", "session_id", "user_id", "model", "engine", "error", "tool_names", "model_names",
    "detail", "phases",
)  # fmt: skip
CALL_COLUMNS = (
    "day", "project_id", "trace_id", "root_span_id", "span_id", "parent_span_id", "start_unix_ns", "end_unix_ns",
    "wall_ns", "queue_ns", "prefill_ns", "decode_ns", "transport_ns", "ttft_ns", "tpot_ns", "first_token_unix_ns",
    "input_tokens", "cached_tokens", "output_tokens", "attempts", "round", "scope", "source",
    "carries_tool_results", "streamed", "model", "engine", "provider", "error", "finish_reason", "response_id",
)  # fmt: skip
TOOL_COLUMNS = (
    "day", "project_id", "trace_id", "root_span_id", "span_id", "start_unix_ns", "end_unix_ns", "wall_ns",
    "transport_ns", "round", "scope", "attempts", "ok", "abandoned", "pseudo", "agent", "name", "call_id", "error",
)  # fmt: skip

Row = tuple[Any, ...]


def run_row(
    run: Run, project_id: int, day: dt.date, settles_unix_ns: int, spans: int, basis: Sequence[Any] = ()
) -> Row:
    """``basis`` is what the run's estimates rest on, where it needed any; kept for when it is computed again."""
    broken = run.breakdown
    times = [
        *(broken.stages_ns[stage] for stage in Stage),
        *(broken.outside_ns[outside] for outside in Outside),
    ]
    detail = {
        "busy_ns": dict(broken.busy_ns),
        "sources": dict(broken.sources),
        "sources_ns": {stage: dict(parts) for stage, parts in broken.sources_ns.items() if parts},
        "warnings": [[w.code, plain(w.text), w.span_id] for w in run.warnings],
        "tools": [
            sum(1 for t in run.tools if not t.pseudo),
            sum(1 for t in run.tools if t.ok is False and not t.pseudo),
        ],
        "algorithm": ALGORITHM,
    }
    if basis:
        detail["basis"] = basis
    return (
        day, project_id, bytes.fromhex(run.trace_id), bytes.fromhex(run.root_span_id), fit(run.start_unix_ns),
        fit(run.end_unix_ns), broken.wall_ns, settles_unix_ns, *times, run.ttft_ns, run.first_token_ns,
        run.ttft_sum_ns, fit(run.input_tokens), fit(run.cached_tokens), fit(run.output_tokens), run.rounds, spans,
        run.root_ended, run.status == "error", plain(run.name), plain(run.service), plain(run.agent),
        plain(run.version), plain(run.environment), plain(run.session_id), plain(run.user_id), plain(run.model),
        plain(run.engine), plain(run.error), _names(tool.name for tool in run.tools),
        _names(call.model for call in run.calls), Jsonb(detail), pack_phases(run.phases, run.start_unix_ns),
    )  # fmt: skip


def call_row(call: Call, run: Run, project_id: int, day: dt.date) -> Row:
    return (
        day, project_id, bytes.fromhex(run.trace_id), bytes.fromhex(run.root_span_id), bytes.fromhex(call.span_id),
        bytes.fromhex(call.parent_span_id) if call.parent_span_id else None, fit(call.start_unix_ns),
        fit(call.start_unix_ns + call.wall_ns), fit(call.wall_ns), call.queue_ns, call.prefill_ns, call.decode_ns,
        call.transport_ns, call.ttft_ns, call.tpot_ns, fit(call.first_token_unix_ns), _count(call.input_tokens),
        _count(call.cached_tokens), _count(call.output_tokens), call.attempts, call.round, call.scope,
        SOURCES.index(call.source), call.carries_tool_results, call.streamed, plain(call.model),
        plain(call.engine), plain(call.provider), plain(call.error), plain(call.finish_reason),
        plain(call.response_id),
    )  # fmt: skip


def tool_row(tool: Tool, run: Run, project_id: int, day: dt.date) -> Row:
    return (
        day, project_id, bytes.fromhex(run.trace_id), bytes.fromhex(run.root_span_id), bytes.fromhex(tool.span_id),
        fit(tool.start_unix_ns), fit(tool.start_unix_ns + tool.wall_ns), fit(tool.wall_ns), tool.transport_ns,
        tool.round, tool.scope, tool.attempts, tool.ok, tool.abandoned, tool.pseudo, tool.agent, plain(tool.name),
        plain(tool.call_id), plain(tool.error),
    )  # fmt: skip


def write_rows(
    cursor: Any, arrays: dict[str, object], runs: Sequence[Row], calls: Sequence[Row], tools: Sequence[Row]
) -> None:
    """Replace the rows of the traces in ``arrays``."""
    for table, columns, rows in (
        ("ingest_run", RUN_COLUMNS, runs),
        ("ingest_call", CALL_COLUMNS, calls),
        ("ingest_tool", TOOL_COLUMNS, tools),
    ):
        cursor.execute(
            f"""DELETE FROM {table} AS old
                USING unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(days)s::date[])
                    AS t (trace_id, project_id, day)
                WHERE old.trace_id = t.trace_id AND old.project_id = t.project_id AND old.day = t.day""",
            arrays,
        )
        if rows:
            with cursor.copy(f"COPY {table} ({', '.join(columns)}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)


def pack_phases(phases: Sequence[Phase], start_unix_ns: int) -> bytes:
    """Phases as offsets from the run's start: read whole by the run page and by nobody else."""
    packed = [
        (
            p.start_unix_ns - start_unix_ns,
            p.end_unix_ns - start_unix_ns,
            OWNERS.index(p.owner),
            SOURCES.index(p.source),
            p.span_id,
        )
        for p in phases
    ]
    return zstandard.ZstdCompressor(3).compress(msgspec.msgpack.encode(packed))


def unpack_phases(packed: bytes) -> list[tuple[int, int, str, str, str | None]]:
    """(start_ns, end_ns, owner, source, span_id) of each phase."""
    if not packed:
        return []
    rows = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(packed))
    return [
        (start, end, OWNERS[owner].value, SOURCES[source].value, span_id) for start, end, owner, source, span_id in rows
    ]


def plain(text: str | None) -> str | None:
    """Text as PostgreSQL takes it: NUL becomes the replacement character."""
    return text.replace("\x00", "\ufffd") if text and "\x00" in text else text


def fit(number: int | None) -> int | None:
    """A number as bigint takes it. The kernel has flagged a time in the year 2554; here it is only cut."""
    return None if number is None else max(-BIGINT_MAX, min(BIGINT_MAX, number))


def _count(number: int | None) -> int | None:
    """A token count as integer takes it; an absurd one is unknown."""
    return number if number is not None and -(2**31) <= number < 2**31 else None


def _names(names: Any) -> list[str]:
    return list(dict.fromkeys(clean for name in names if name and (clean := plain(name))))

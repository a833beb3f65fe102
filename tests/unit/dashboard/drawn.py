"""Runs to show, drawn in a few lines: phases as ``owner from to span [source]`` in milliseconds."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import fields
from typing import Any

from ingest.read.values import CallRow, PhaseRow, RunDetail, SpanRow, ToolRow
from ingest.stages.model import Outside, Stage

MS = 1_000_000
START = 1_700_000_000_000_000_000


def drawn_run(
    phases: str, *, calls: list[CallRow] | None = None, tools: list[ToolRow] | None = None, **given: Any
) -> RunDetail:
    rows = [_phase(line.split()) for line in phases.strip().splitlines()]
    amounts: Counter[str] = Counter()
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        amounts[row.owner] += row.end_ns - row.start_ns
        sources[row.owner][row.source] += row.end_ns - row.start_ns
    wall = sum(amounts.values())
    values: dict[str, Any] = {field.name: None for field in fields(RunDetail)} | {
        "run_id": "ab" * 16 + "-" + "cd" * 8,
        "trace_id": "ab" * 16,
        "root_span_id": "root",
        "name": "clerk",
        "service": "shop",
        "models": [],
        "tool_names": [],
        "status": "ok",
        "provisional": False,
        "root_ended": True,
        "start_unix_ns": START,
        "end_unix_ns": START + wall,
        "wall_ns": wall,
        "stages_ns": {s.value: amounts[s.value] for s in Stage},
        "outside_ns": {o.value: amounts[o.value] for o in Outside},
        "busy_ns": {s.value: amounts[s.value] for s in Stage},
        "sources": {
            s.value: max(sources[s.value], default=None, key=lambda k, s=s: sources[s.value][k]) for s in Stage
        },
        "sources_ns": {s.value: dict(sources[s.value]) for s in Stage},
        "rounds": len(calls or []),
        "spans": 1,
        "tool_count": len(tools or []),
        "tool_failures": 0,
        "warning_count": 0,
        "calls": calls or [],
        "tools": tools or [],
        "warnings": [],
        "phases": rows,
    }
    return RunDetail(**values | given)


def _phase(words: list[str]) -> PhaseRow:
    owner, start, end, span, *source = words
    return PhaseRow(
        owner=owner,
        start_ns=int(float(start) * MS),
        end_ns=int(float(end) * MS),
        span_id=None if span == "-" else span,
        source=source[0] if source else "client",
    )


def call(span_id: str, start: int, wall: int, **given: Any) -> CallRow:
    values: dict[str, Any] = dict.fromkeys(CallRow.__struct_fields__) | {
        "span_id": span_id,
        "start_unix_ns": START + start * MS,
        "wall_ns": wall * MS,
        "model": "tiny",
        "round": 1,
        "scope": 0,
        "attempts": 1,
        "source": "client",
        "carries_tool_results": False,
    }
    return CallRow(**values | given)


def tool(span_id: str, start: int, wall: int, **given: Any) -> ToolRow:
    values: dict[str, Any] = dict.fromkeys(ToolRow.__struct_fields__) | {
        "span_id": span_id,
        "start_unix_ns": START + start * MS,
        "wall_ns": wall * MS,
        "name": "search",
        "round": 1,
        "scope": 0,
        "attempts": 1,
        "ok": True,
        "abandoned": False,
        "pseudo": False,
        "agent": False,
    }
    return ToolRow(**values | given)


def span(span_id: str, parent: str | None, start: int, end: int, name: str = "", **given: Any) -> SpanRow:
    return SpanRow(
        trace_id="ab" * 16,
        span_id=span_id,
        parent_span_id=parent,
        name=name or span_id,
        kind=1,
        status=0,
        status_message="",
        start_unix_ns=START + start * MS,
        end_unix_ns=START + end * MS,
        service="shop",
        scope_name="",
        **given,
    )


TWO_ROUNDS = """
    orchestration    0    10  -
    prefill         10   110  c1
    decode         110   210  c1
    tool_parsing   210   220  c1
    tool_execution 220   420  t1
    orchestration  420   430  -
    re_encoding    430   530  c2   estimated
    continue_decode 530  600  c2   estimated
    orchestration  600   605  -
"""


def two_rounds(**given: Any) -> RunDetail:
    """A call, its tool, and the call that answers; the second call's split is an estimate."""
    calls = [
        call(
            "c1",
            10,
            200,
            prefill_ns=100 * MS,
            decode_ns=100 * MS,
            first_token_unix_ns=START + 110 * MS,
            ttft_ns=100 * MS,
        ),
        call(
            "c2",
            430,
            170,
            prefill_ns=100 * MS,
            decode_ns=70 * MS,
            round=2,
            carries_tool_results=True,
            source="estimated",
        ),
    ]
    return drawn_run(TWO_ROUNDS, calls=calls, tools=[tool("t1", 220, 200)], **given)

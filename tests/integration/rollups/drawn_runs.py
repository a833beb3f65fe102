"""Runs as workers write them, drawn by chance."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction

from ingest.models import Project
from ingest.partitions import today
from ingest.rollups.applying import write_deltas
from ingest.rollups.counting import Gathered
from ingest.rows import Rows
from ingest.stages.model import Breakdown, Call, Outside, Run, Source, Stage, Tool
from ingest.stored import direct_cursor

SECOND_NS = 10**9


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


def utc(*moment: int) -> int:
    """Unix nanoseconds of a moment in UTC."""
    return int(dt.datetime(*moment, tzinfo=dt.UTC).timestamp()) * SECOND_NS  # type: ignore[misc]


@contextmanager
def writing() -> Iterator[tuple[Any, Gathered]]:
    """What a worker does in its transaction."""
    with transaction.atomic(), direct_cursor() as cursor:
        gathered = Gathered()
        yield cursor, gathered
        write_deltas(cursor, gathered)


def keep(project: Project, runs: list[Run], batch: int = 50, *, by_end: bool = False) -> list[Run]:
    """Write runs as workers do, some at a time: as received now, or on the day on which each has ended."""
    for at in range(0, len(runs), batch):
        rows = Rows()
        for run in runs[at : at + batch]:
            day = today(run.end_unix_ns if by_end else time.time_ns())
            # Each is alone in its trace; rows from before that was told say their root.
            rows.add(run, project.pk, day, run.end_unix_ns, 3, is_only=run.trace_id[-1] in "02468ace")
        with writing() as (cursor, gathered):
            rows.copy(cursor)
            gathered.add_rows(rows)
    return runs


def drawn(chance: random.Random, number: int, end_ns: int, **fields: Any) -> Run:
    """A plausible run that ends then, with calls and tools that end before it or, now and then, a moment after."""
    wall_ns = int(10 ** chance.uniform(6, 11))
    cuts = sorted(chance.randint(0, wall_ns) for _ in range(9))
    parts = [after - before for before, after in zip([0, *cuts], [*cuts, wall_ns], strict=True)]
    if chance.random() < 0.8:  # no model time that nobody splits
        parts[9] += parts[8]
        parts[8] = 0
    stages, outside = dict(zip(Stage, parts[:6], strict=True)), dict(zip(Outside, parts[6:], strict=True))
    broken = Breakdown(
        wall_ns=wall_ns, stages_ns=stages, outside_ns=outside, busy_ns=stages,
        sources=dict.fromkeys(Stage, Source.CLIENT), sources_ns={s: {Source.CLIENT: ns} for s, ns in stages.items()},
    )  # fmt: skip
    trace_id, start_ns = f"{chance.getrandbits(128):032x}", end_ns - wall_ns
    calls = [_call(chance, f"{number * 16 + at:016x}", start_ns, wall_ns) for at in range(chance.randint(0, 3))]
    tools = [_tool(chance, f"{number * 16 + 8 + at:016x}", start_ns, wall_ns) for at in range(chance.randint(0, 3))]
    failed = chance.random() < 0.2
    told = chance.random() < 0.8
    return Run(**{
        "trace_id": trace_id, "root_span_id": f"{number * 16 + 15:016x}", "root_ended": chance.random() < 0.9,
        "name": "run", "service": chance.choice(["shop", "desk", None]), "agent": chance.choice(["planner", "writer"]),
        "version": chance.choice(["1", "2"]), "environment": "prod", "session_id": chance.choice(["s-1", None]),
        "user_id": None, "model": calls[0].model if calls else None, "engine": chance.choice(["vllm", None]),
        "status": "error" if failed else "ok", "error": chance.choice(["timed out", "boom"]) if failed else None,
        "start_unix_ns": start_ns, "breakdown": broken, "ttft_ns": wall_ns // 2 if told else None,
        "first_token_ns": wall_ns // 3 if told else None, "ttft_sum_ns": wall_ns // 4, "rounds": len(calls),
        "input_tokens": chance.randint(1, 9_000) if told else None, "output_tokens": chance.randint(0, 500),
        "cached_tokens": chance.choice([0, None, 1]), "calls": tuple(calls), "tools": tuple(tools),
    } | fields)  # fmt: skip


def _call(chance: random.Random, span_id: str, start_ns: int, wall_ns: int) -> Call:
    begin = start_ns + chance.randint(0, wall_ns)
    input_tokens = chance.choice([None, chance.randint(1, 9_000)])
    return Call(
        span_id=span_id, model=chance.choice(["small", "large"]), engine=chance.choice(["vllm", None]), provider=None,
        start_unix_ns=begin, wall_ns=chance.randint(0, wall_ns), queue_ns=chance.choice([None, 5]),
        prefill_ns=chance.randint(0, 10**9), decode_ns=chance.randint(0, 10**9), transport_ns=None,
        ttft_ns=chance.choice([None, chance.randint(0, 10**9)]),
        tpot_ns=chance.choice([None, chance.randint(0, 10**8)]),
        first_token_unix_ns=None, input_tokens=input_tokens,
        cached_tokens=None if input_tokens is None else chance.choice([None, chance.randint(0, input_tokens)]),
        output_tokens=chance.randint(0, 400), carries_tool_results=False, streamed=True,
        source=chance.choice([Source.CLIENT, Source.ENGINE, Source.ESTIMATED]), attempts=1,
        error=chance.choice([None, None, "429 rate limit"]), finish_reason=None, response_id=None, round=1, scope=0,
        parent_span_id=None,
    )  # fmt: skip


def _tool(chance: random.Random, span_id: str, start_ns: int, wall_ns: int) -> Tool:
    ok = chance.choice([True, True, False, None])
    return Tool(
        span_id=span_id, name=chance.choice(["search", "weather", "book"]), call_id=None,
        start_unix_ns=start_ns + chance.randint(0, wall_ns), wall_ns=chance.randint(0, wall_ns), ok=ok,
        error="timeout" if ok is False else None, round=1, scope=0, transport_ns=None, attempts=1, abandoned=False,
        pseudo=chance.random() < 0.1, agent=False,
    )  # fmt: skip

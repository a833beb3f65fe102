"""A stored run, written as the worker writes it, without the kernel's part in it."""

from __future__ import annotations

import secrets
import time

import zstandard
from django.db import transaction

from ingest.models import Chunk, Project, Signal, Trace
from ingest.otlp.split import digest
from ingest.partitions import today
from ingest.rollups.applying import write_deltas
from ingest.rollups.counting import Gathered
from ingest.rows import Rows
from ingest.stages.model import Breakdown, Call, Outside, Phase, Run, Source, Stage, Tool
from ingest.stored import direct_cursor
from tests.integration.otlp.messages import span, traces

SECRET_WORD = "Quicksilver"  # stands in everything that a project owns, and may be seen by nobody else
SECOND_NS = 10**9


def store_run(project: Project, ended_ns: int | None = None, wall_ns: int = 2 * SECOND_NS) -> str:
    """The id of a new run of one call and one tool, with its trace."""
    end_ns = ended_ns if ended_ns is not None else time.time_ns() - 10 * SECOND_NS
    trace_id, root = secrets.token_bytes(16), secrets.token_bytes(8)
    run = _run(trace_id.hex(), root.hex(), end_ns - wall_ns, wall_ns)
    day = today(time.time_ns())
    sent = span(
        SECRET_WORD, trace_id=trace_id, span_id=root, start_time_unix_nano=end_ns - wall_ns, end_time_unix_nano=end_ns
    )
    content = traces(sent, service=SECRET_WORD).SerializeToString()
    Trace.objects.create(trace_id=trace_id, project_id=project.pk, day=day)
    Chunk.objects.create(
        day=day, project_id=project.pk, trace_id=trace_id, digest=digest(content), signal=Signal.TRACES,
        received_unix_ns=end_ns, items=1, body=zstandard.compress(content),
    )  # fmt: skip
    with transaction.atomic(), direct_cursor() as cursor:
        rows, gathered = Rows(), Gathered()
        rows.add(run, project.pk, day, end_ns, 1)
        rows.copy(cursor)
        gathered.add_rows(rows)
        write_deltas(cursor, gathered)
    return run.run_id


def _run(trace_id: str, root: str, start_ns: int, wall_ns: int) -> Run:
    stages = dict.fromkeys(Stage, 0) | {Stage.DECODE: wall_ns}
    breakdown = Breakdown(
        wall_ns=wall_ns, stages_ns=stages, outside_ns=dict.fromkeys(Outside, 0), busy_ns=stages,
        sources=dict.fromkeys(Stage) | {Stage.DECODE: Source.CLIENT},
        sources_ns={stage: {Source.CLIENT: wall_ns} if stage == Stage.DECODE else {} for stage in Stage},
    )  # fmt: skip
    end_ns = start_ns + wall_ns
    whole = Phase(start_unix_ns=start_ns, end_unix_ns=end_ns, owner=Stage.DECODE, span_id=root, source=Source.CLIENT)
    return Run(
        trace_id=trace_id, root_span_id=root, root_ended=True, name=SECRET_WORD, service=SECRET_WORD,
        agent=f"{SECRET_WORD} run", version="1", environment="production", session_id=None, user_id=None,
        model="m", engine=None, status="ok", error=None, start_unix_ns=start_ns, breakdown=breakdown, ttft_ns=None,
        first_token_ns=None, ttft_sum_ns=None, rounds=1, input_tokens=None, cached_tokens=None, output_tokens=None,
        calls=(_call(root, start_ns, wall_ns),), tools=(_tool(start_ns),), phases=(whole,), warnings=(),
    )  # fmt: skip


def _call(span_id: str, start_ns: int, wall_ns: int) -> Call:
    return Call(
        span_id=span_id, model="m", engine=None, provider=None, start_unix_ns=start_ns, wall_ns=wall_ns, queue_ns=None,
        prefill_ns=None, decode_ns=wall_ns, transport_ns=None, ttft_ns=None, tpot_ns=None, first_token_unix_ns=None,
        input_tokens=None, cached_tokens=None, output_tokens=None, carries_tool_results=False, streamed=None,
        source=Source.CLIENT, attempts=1, error=None, finish_reason=None, response_id=None, round=1, scope=0,
        parent_span_id=None,
    )  # fmt: skip


def _tool(start_ns: int) -> Tool:
    return Tool(
        span_id=secrets.token_hex(8), name=SECRET_WORD, call_id=None, start_unix_ns=start_ns, wall_ns=1, ok=True,
        error=None, round=1, scope=0, transport_ns=None, attempts=1, abandoned=False, pseudo=False, agent=False,
    )  # fmt: skip

"""Spans of real agents and their engine that come one by one, in any order, with a pass after some of them: in the end
the rows say what they would have said had all been there from the start."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest.decomposing import decompose_dirty
from ingest.joining import LOOK_AGAIN_NS, look_again
from ingest.models import Project
from ingest.models.telemetry import Signal
from ingest.otlp.json_form import parse_json
from ingest.otlp.requests import Refusals, parse_protobuf
from ingest.otlp.split import TracePart, split_traces
from ingest.rollups.verifying import verify
from ingest.store import Store
from tests.captures import Capture, captures
from tests.integration.store.parts import IDLE_NS

pytestmark = pytest.mark.django_db(transaction=True)

CHOSEN = ("otel-genai-noprop-parallel-tools", "otel-genai-http-n2", "pydantic-ai-subagent", "mlflow-parallel")
CAPTURES = [capture for part in ("corpus", "joined") for capture in captures(part) if capture.name in CHOSEN]
# All but when a run settles, which is a matter of receipt, and what its estimates rest on, which is of what was there.
TABLES = {
    "ingest_run": "to_jsonb(one) - 'settles_unix_ns' #- '{detail,basis}'",
    "ingest_call": "to_jsonb(one)",
    "ingest_tool": "to_jsonb(one)",
}


def single_spans(capture: Capture) -> Iterator[list[TracePart]]:
    """Each span of the capture in a request of its own."""
    for body in capture.bodies:
        if body.signal != "traces":
            continue
        parse = parse_json if body.is_json else parse_protobuf
        request: Any = parse(Signal.TRACES, body.content(), Refusals())
        for of_resource in request.resource_spans:
            for of_scope in of_resource.scope_spans:
                for span in of_scope.spans:
                    alone = type(request)()
                    resource = alone.resource_spans.add(resource=of_resource.resource)
                    resource.scope_spans.add(scope=of_scope.scope, spans=[span])
                    yield split_traces(alone, Refusals())


async def passed() -> None:
    await sync_to_async(decompose_dirty)(time.time_ns() + LOOK_AGAIN_NS[-1], IDLE_NS)


async def settled() -> None:
    """Until nothing is owed any more, and every look for an engine's call has been taken."""
    later_ns = 0
    for wait_ns in LOOK_AGAIN_NS:
        later_ns += wait_ns
        await passed()
        await sync_to_async(look_again)(time.time_ns() + later_ns)
    await passed()


def told(rows: Any) -> dict[str, list[Any]]:
    return {
        table: rows(f"SELECT {shown} AS told FROM {table} AS one ORDER BY trace_id, start_unix_ns, one::text")
        for table, shown in TABLES.items()
    }


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
async def test_rows_do_not_depend_on_when_spans_come(
    store: Store, project: Project, rows: Any, capture: Capture, seed: int
) -> None:
    spans = list(single_spans(capture))
    order = random.Random(seed)
    order.shuffle(spans)
    for one in spans:
        await store.keep(project.pk, one, None)
        if order.random() < 0.5:
            await passed()
    await settled()
    bit_by_bit = told(rows)
    assert await sync_to_async(lambda: list(verify()))() == []
    of_rollups = ("ingest_rollup", "ingest_rollup_delta")
    for table in ("ingest_run", "ingest_call", "ingest_tool", "ingest_engine_span", "ingest_chunk", *of_rollups):
        rows(f"DELETE FROM {table} RETURNING 1")

    for one in spans:
        await store.keep(project.pk, one, None)
    await settled()

    assert told(rows) == bit_by_bit
    assert bit_by_bit["ingest_run"]

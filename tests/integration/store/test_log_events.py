"""Messages that come as log records complete the spans they name, whichever comes first."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest.decomposing import decompose_dirty
from ingest.models import Project
from ingest.packed import unpack_detail
from ingest.read.traces import span_detail, trace_detail
from ingest.scope import Scope
from ingest.store import Store
from tests.integration.store.logged import records
from tests.integration.store.parts import IDLE_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = """
    SELECT carries_tool_results AS carries, detail, encode(call.span_id, 'hex') AS span_id
    FROM ingest_call AS call JOIN ingest_run USING (trace_id)
"""


def calls(rows: Any) -> list[tuple[str | None, bool]]:
    """(finish reason, whether it brings tool results) of each stored call."""
    found = [(unpack_detail(row["detail"], [row["span_id"]]).calls, row["carries"]) for row in rows(CALLS)]
    return [(told.finish_reason, carries) for calls, carries in found for told in calls.values()]


async def one_pass() -> None:
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)


def told(of: Any) -> list[Any]:
    return records(
        (of, "gen_ai.user.message", {"content": "hi"}),
        (of, "gen_ai.tool.message", {"content": "21 °C", "id": "c1"}),
        (of, "gen_ai.choice", {"finish_reason": "stop"}),
    )


@pytest.mark.parametrize("logs_first", [True, False])
async def test_a_call_knows_what_its_records_tell(store: Store, project: Project, rows: Any, logs_first: bool) -> None:
    span = call()
    pair = [told(span), parts(span)]
    for part in pair if logs_first else reversed(pair):
        await store.keep(project.pk, part, None)
        await one_pass()
    assert calls(rows) == [("stop", True)]


async def test_records_of_other_things_change_nothing(store: Store, project: Project, rows: Any) -> None:
    span = call()
    await store.keep(project.pk, [*parts(span), *records((span, "device.crash", {"finish_reason": "stop"}))], None)
    await one_pass()
    assert calls(rows) == [(None, False)]


async def test_the_span_panel_shows_them_as_events(store: Store, project: Project) -> None:
    span, scope = call(), Scope(project_id=project.pk)
    await store.keep(project.pk, [*parts(span), *told(span)], None)
    shown = await sync_to_async(span_detail)(scope, span.trace_id.hex(), span.span_id.hex())
    assert shown is not None
    assert [event["name"] for event in shown.events] == ["gen_ai.user.message", "gen_ai.tool.message", "gen_ai.choice"]
    assert shown.events[1]["attributes"] == {"content": "21 °C", "id": "c1"}
    trace = await sync_to_async(trace_detail)(scope, span.trace_id.hex(), True)
    assert trace is not None
    assert len(trace.spans[0].events) == 3

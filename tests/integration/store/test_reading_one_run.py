"""A run is read whole, also while it is decomposed again."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest.decomposing import decompose_dirty
from ingest.models import Project
from ingest.models.telemetry import Signal
from ingest.otlp.requests import Refusals, parse_protobuf
from ingest.otlp.split import split_traces
from ingest.read import run as reading
from ingest.read.span_times import span_times
from ingest.read.traces import span_detail, trace_detail
from ingest.scope import Scope
from ingest.store import Store
from tests.integration.store.parts import IDLE_NS, call, parts
from tests.large_runs import MS, LargeRun

pytestmark = pytest.mark.django_db(transaction=True)


async def test_calls_are_those_of_the_run_that_was_read(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = call()
    await store.keep(project.pk, parts(span), None)
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)
    select = reading.select

    def after_another_pass(sql: str, parameters: list[Any]) -> list[dict[str, Any]]:
        if "FROM ingest_call" in sql:
            rows("UPDATE ingest_call SET span_id = %s RETURNING 1", bytes(8))
        return select(sql, parameters)

    monkeypatch.setattr(reading, "select", after_another_pass)
    run_id = f"{span.trace_id.hex()}-{span.span_id.hex()}"
    run = await sync_to_async(reading.run_detail)(Scope(project_id=project.pk), run_id, time.time_ns())
    assert run is not None
    assert [one.span_id for one in run.calls] == [span.span_id.hex()]


async def test_what_is_known_of_one_span_is_what_the_whole_run_knows_of_it(store: Store, project: Project) -> None:
    run = LargeRun("shop", 500 * MS)
    for number in range(4):
        run.round(number * 120 * MS, 119 * MS, 2, "POST /v1/chat/completions")
    again = run.spans[3]
    run.spans.append(type(again)())
    run.spans[-1].CopyFrom(again)  # sent twice, in chunks of their own; the last wins
    run.spans[-1].attributes.add(key="again").value.bool_value = True
    for at in range(0, len(run.spans), 5):
        for body in run.requests(run.spans[at : at + 5]):
            parsed = parse_protobuf(Signal.TRACES, body, Refusals())
            await store.keep(project.pk, split_traces(parsed, Refusals()), None)
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)
    scope = Scope(project_id=project.pk)

    def compare() -> int:
        whole = reading.run_detail(scope, run.run_id, time.time_ns())
        trace = trace_detail(scope, run.trace_id.hex(), with_attributes=True)
        assert whole
        assert trace
        for stored in trace.spans:
            about = reading.run_about(scope, run.run_id, stored.span_id, time.time_ns())
            assert about
            one, places = about
            for of, known in ((one.calls, whole.calls), (one.tools, whole.tools)):
                assert of == [fact for fact in known if fact.span_id == stored.span_id]
            facts = {fact.span_id for fact in (*whole.calls, *whole.tools)}
            assert one.phases == [p for p in whole.phases if p.span_id == stored.span_id and p.span_id in facts]
            assert [place.span_id for place in places] == [call.span_id for call in whole.calls]
            assert span_detail(scope, run.trace_id.hex(), stored.span_id) == stored
        return len(trace.spans)

    assert await sync_to_async(compare)() == len(run.spans) - 1


async def test_a_name_with_holes_is_told_as_the_message_that_fills_them(store: Store, project: Project) -> None:
    run = LargeRun("shop", 500 * MS)
    filled = {"logfire.msg": "Turn 1 for agent shop", "logfire.msg_template": "Turn {turn} for agent {name!r}"}
    run.add("Turn {turn} for agent {name!r}", 0, 9 * MS, run.root, **filled)
    run.add("{unknown}", 10 * MS, 19 * MS, run.root, **{"logfire.msg_template": "{unknown}"})
    for body in run.requests(run.spans):
        await store.keep(project.pk, split_traces(parse_protobuf(Signal.TRACES, body, Refusals()), Refusals()), None)
    times = await sync_to_async(span_times)(Scope(project_id=project.pk), run.trace_id.hex())
    assert [span.name for span in times.values()] == ["invoke_agent shop", "Turn 1 for agent shop", "{unknown}"]

"""Calls that nobody splits are estimated by measured ones of the same project, service and model, and stay so."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingest import basis
from ingest.decomposing import decompose_dirty
from ingest.models import Project
from ingest.otlp.requests import Refusals
from ingest.otlp.split import TracePart, split_traces
from ingest.stages.estimate import MIN_CALLS
from ingest.store import Store
from tests.integration.otlp.messages import span, traces
from tests.integration.store.measured import MS, measured, unmeasured
from tests.integration.store.parts import IDLE_NS, SECOND_NS, parts

pytestmark = pytest.mark.django_db(transaction=True)

ESTIMATED, UNKNOWN = 3, 4
CALL = "SELECT source, prefill_ns, tpot_ns FROM ingest_call WHERE trace_id = %s"
BASIS = "SELECT basis FROM ingest_run WHERE trace_id = %s"


async def one_pass() -> None:
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)


async def keep(store: Store, project: Project, *parts_of: list[TracePart]) -> None:
    for one in parts_of:
        await store.keep(project.pk, one, None)
    await one_pass()


def from_service(service: str, *spans: Any) -> list[TracePart]:
    return split_traces(traces(*spans, service=service), Refusals())


def several(count: int = MIN_CALLS, **fields: Any) -> list[Any]:
    return [measured(**fields) for _ in range(count)]


async def test_a_call_is_estimated_by_measured_ones(store: Store, project: Project, rows: Any) -> None:
    await keep(store, project, parts(*several(tpot_ms=20)))
    await keep(store, project, parts(one := unmeasured()))
    (call,) = rows(CALL, one.trace_id)
    assert call["source"] == ESTIMATED
    assert abs(call["prefill_ns"] - 800 * MS) <= 2 * MS
    assert call["tpot_ns"] is None
    ((service, model, engine, told),) = rows(BASIS, one.trace_id)[0]["basis"]
    assert (service, model, engine, told[3]) == ("shop", "m", None, MIN_CALLS)


@pytest.mark.parametrize(
    "others",
    [
        parts(*several(MIN_CALLS - 1)),
        parts(*several(model="another")),
        parts(*several(ago_s=basis.WINDOW_NS // SECOND_NS + 60)),
        parts(*several(tokens=basis.MIN_OUTPUT_TOKENS - 1)),
        parts(*(unmeasured() for _ in range(MIN_CALLS))),
        from_service("billing", *several()),
    ],
    ids=["too few", "another model", "too long ago", "too short", "unmeasured", "another service"],
)
async def test_it_is_not_estimated_by(store: Store, project: Project, rows: Any, others: list[TracePart]) -> None:
    await keep(store, project, others)
    await keep(store, project, parts(one := unmeasured()))
    assert rows(CALL, one.trace_id)[0]["source"] == UNKNOWN


async def test_nor_by_another_projects(store: Store, project: Project, rows: Any) -> None:
    await keep(store, await Project.objects.acreate(slug="other", name="Other"), parts(*several()))
    await keep(store, project, parts(one := unmeasured()))
    assert rows(CALL, one.trace_id)[0]["source"] == UNKNOWN


async def test_estimates_are_no_basis_of_others(store: Store, project: Project, rows: Any) -> None:
    await keep(store, project, parts(*several()))
    await keep(store, project, parts(*(unmeasured() for _ in range(20))))
    await keep(store, project, parts(one := unmeasured()))
    assert rows(BASIS, one.trace_id)[0]["basis"][0][3][3] == MIN_CALLS


async def test_a_late_span_finds_the_basis_that_the_run_had(store: Store, project: Project, rows: Any) -> None:
    await keep(store, project, parts(*several(tpot_ms=20)))
    await keep(store, project, parts(one := unmeasured()))
    before = rows(CALL, one.trace_id)
    await keep(store, project, parts(*several(50, tpot_ms=50)))
    await keep(store, project, parts(span("late", trace_id=one.trace_id, parent_span_id=one.span_id)))
    assert rows(CALL, one.trace_id) == before


async def test_that_there_was_none_is_kept_too(store: Store, project: Project, rows: Any) -> None:
    await keep(store, project, parts(one := unmeasured()))
    assert rows(BASIS, one.trace_id) == [{"basis": [["shop", "m", None, None]]}]
    await keep(store, project, parts(*several()))
    await keep(store, project, parts(span("late", trace_id=one.trace_id, parent_span_id=one.span_id)))
    assert rows(CALL, one.trace_id)[0]["source"] == UNKNOWN


async def test_names_that_no_table_holds_ask_for_nothing(store: Store, project: Project, rows: Any) -> None:
    await keep(store, project, parts(one := unmeasured(model="m\x00m")))
    assert rows(CALL, one.trace_id)[0]["source"] == UNKNOWN
    assert rows(BASIS, one.trace_id) == [{"basis": None}]


def queries_of_a_pass() -> list[str]:
    with CaptureQueriesContext(connection) as queries:
        decompose_dirty(time.time_ns(), IDLE_NS)
    told = [query["sql"].strip() for query in queries]
    return [sql for sql in told if sql.startswith("SELECT") and ("tpot_ns" in sql or "run.basis" in sql)]


async def test_a_batch_of_split_calls_asks_nothing(store: Store, project: Project) -> None:
    await store.keep(project.pk, parts(*several(20)), None)
    assert await sync_to_async(queries_of_a_pass)() == []


async def test_a_batch_of_unsplit_calls_asks_once(store: Store, project: Project) -> None:
    await store.keep(project.pk, parts(*(unmeasured(model=f"m{n}") for n in range(20))), None)
    asked = await sync_to_async(queries_of_a_pass)()
    assert len(asked) == 2, "what the runs had, and what is measured"

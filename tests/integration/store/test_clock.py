"""Clocks that jump: work is shared out by the database's, and times from a clock that was ahead hold nothing up."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest import leases, tasks
from ingest.clock import shared_now_ns
from ingest.decomposing import Decomposed, decompose_dirty
from ingest.models import Project
from ingest.store import Store
from tests.integration.store.parts import IDLE_NS, SECOND_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)

HOUR_NS = 3600 * SECOND_NS
MARKS = "SELECT * FROM ingest_dirty_trace"


async def one_pass() -> Decomposed:
    return await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)


async def test_the_databases_clock_is_told_in_nanoseconds() -> None:
    assert abs(await sync_to_async(shared_now_ns)() - time.time_ns()) < 60 * SECOND_NS


@pytest.mark.parametrize("hours", [2, -2])
async def test_a_worker_with_a_wrong_clock_claims_as_the_others_do(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    await store.keep(project.pk, parts(call()), None)
    await sync_to_async(leases.claim)(time.time_ns(), 10)  # by another, who lives
    now_ns = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now_ns() + hours * HOUR_NS)
    await sync_to_async(tasks.decompose_traces)()
    (mark,) = rows(MARKS)
    assert mark["tries"] == 1


async def test_what_came_while_the_clock_was_ahead_is_due_when_it_is_right_again(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = time.time_ns
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda: now_ns() + 2 * HOUR_NS)
        await store.keep(project.pk, parts(call()), None)
    assert (await one_pass()).traces == 0
    assert await sync_to_async(leases.call_back)(time.time_ns()) == 1
    assert (await one_pass()).traces == 1
    assert rows(MARKS) == []


async def test_a_lease_from_a_clock_that_was_ahead_is_over(store: Store, project: Project, rows: Any) -> None:
    await store.keep(project.pk, parts(call()), None)
    await sync_to_async(leases.claim)(time.time_ns() + 2 * HOUR_NS, 10)
    assert (await one_pass()).traces == 1
    assert rows(MARKS) == []


async def test_what_is_put_off_after_a_failure_stays_put_off(store: Store, project: Project, rows: Any) -> None:
    await store.keep(project.pk, parts(call()), None)
    (claim,) = await sync_to_async(leases.claim)(time.time_ns(), 10)
    await sync_to_async(leases.set_aside)(claim, ValueError("odd"), time.time_ns())
    assert await sync_to_async(leases.call_back)(time.time_ns()) == 0
    assert (await one_pass()).traces == 0

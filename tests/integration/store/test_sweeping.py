"""A worker whose queue is full of wake-ups: the sweep's own message may expire there, what it is for is done anyway."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from django.conf import settings

from ingest import live, tasks
from ingest.models import Project
from ingest.store import Store
from tests.integration.store.parts import SECOND_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_sweep_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_swept_s", -math.inf)
    with redis.Redis.from_url(settings.SIXSTAGE_REDIS_URL) as client:
        client.delete(live.BEAT_KEY)


async def test_a_wake_up_is_enough_for_a_sign_of_life() -> None:
    await sync_to_async(tasks.decompose_traces)()
    age_s = live.beat_age_s(time.time_ns())
    assert age_s is not None
    assert age_s < 20


async def test_many_wake_ups_make_one_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    signs: list[None] = []
    monkeypatch.setattr(live, "beat", lambda: signs.append(None))
    for _ in range(10):
        await sync_to_async(tasks.decompose_traces)()
    assert len(signs) <= 2  # two if the machine took two seconds for ten


async def test_what_came_while_the_clock_was_ahead_needs_no_more_than_a_wake_up(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = time.time_ns
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time_ns", lambda: now_ns() + 7200 * SECOND_NS)
        await store.keep(project.pk, parts(call()), None)
    await sync_to_async(tasks.decompose_traces)()
    assert rows("SELECT 1 FROM ingest_dirty_trace") == []

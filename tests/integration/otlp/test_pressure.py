"""Full disks and workers that are behind: ingest is refused early, in words, and is taken again by itself."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from ingest import pressure as pressure_module
from ingest import store as store_module
from ingest.models import Project
from ingest.otlp.receiver import Receiver
from ingest.pressure import Bounds, DrainRate, Pressure
from tests.integration.otlp.messages import PROTOBUF, body, partial, span, status_of

pytestmark = pytest.mark.django_db(transaction=True)


async def refused(web: httpx.AsyncClient) -> tuple[str, int]:
    """(message, seconds to wait) of a request that must be refused as to be sent again."""
    response = await web.post("/v1/traces", content=body(span()), headers=PROTOBUF)
    code, message = status_of(response)
    assert (response.status_code, code) == (503, 14), message
    return message, int(response.headers["retry-after"])


async def taken(web: httpx.AsyncClient) -> None:
    assert partial(await web.post("/v1/traces", content=body(span()), headers=PROTOBUF)) == (0, "")


def bounded(receiver: Receiver, **bounds: Any) -> Pressure:
    receiver.pressure = Pressure(Bounds(**bounds))
    return receiver.pressure


async def test_under_its_least_free_space_it_refuses_and_then_takes_again(
    web: httpx.AsyncClient, receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = [900_000_000]
    monkeypatch.setattr(pressure_module.os, "statvfs", lambda _: SimpleNamespace(f_bavail=free[0], f_frsize=1))
    pressure = bounded(receiver, disk=tmp_path, min_free_bytes=10**9)
    await taken(web)  # nobody has looked yet
    await pressure.look(receiver.store.pool)
    message, wait_s = await refused(web)
    assert "SIXSTAGE_MIN_FREE_BYTES" in message
    assert 20 <= wait_s <= 30
    free[0] = 1_050_000_000  # over the limit, but not by enough to be sure
    await pressure.look(receiver.store.pool)
    await refused(web)
    free[0] = 1_200_000_000
    await pressure.look(receiver.store.pool)
    await taken(web)


async def test_a_limit_of_0_turns_the_guard_off(receiver: Receiver, tmp_path: Path) -> None:
    pressure = bounded(receiver, disk=tmp_path, min_free_bytes=0)
    await pressure.look(receiver.store.pool)
    assert pressure.about is None


async def test_a_real_disk_with_less_than_is_wanted_is_told(receiver: Receiver, tmp_path: Path) -> None:
    pressure = bounded(receiver, disk=tmp_path, min_free_bytes=1 << 60)
    await pressure.look(receiver.store.pool)
    assert "MiB are free" in (pressure.about or "")


async def test_a_database_over_its_size_refuses(
    web: httpx.AsyncClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressure = bounded(receiver, max_database_bytes=1 << 20)
    await pressure.look(receiver.store.pool)
    message, _ = await refused(web)
    assert "SIXSTAGE_MAX_DATABASE_BYTES" in message
    pressure.bounds = Bounds(max_database_bytes=1 << 50)
    await pressure.look(receiver.store.pool)
    await taken(web)


async def test_postgresqls_own_full_disk_loses_nothing_and_heals(
    web: httpx.AsyncClient, receiver: Receiver, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = "DO $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END$$"
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "MARK_DIRTY", full)
        message, wait_s = await refused(web)
        assert "disk is full" in message
        assert wait_s >= 10
        assert receiver.store.trouble == "PostgreSQL's disk is full"
    assert rows("SELECT 1 FROM ingest_chunk") == []
    await taken(web)
    assert receiver.store.trouble is None
    assert len(rows("SELECT 1 FROM ingest_chunk")) == 1


async def test_when_the_workers_are_far_behind_senders_wait_for_them(
    web: httpx.AsyncClient, receiver: Receiver, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressure = bounded(receiver, backlog_traces=20)
    for _ in range(21):
        await taken(web)
    await pressure.look(receiver.store.pool)
    message, _ = await refused(web)
    assert "21 traces wait" in message
    assert len(rows("SELECT 1 FROM ingest_dirty_trace")) == 21
    rows("DELETE FROM ingest_dirty_trace WHERE ctid IN (SELECT ctid FROM ingest_dirty_trace LIMIT 2) RETURNING 1")
    await pressure.look(receiver.store.pool)
    await refused(web)  # 19 is under the limit and not yet calm
    rows("DELETE FROM ingest_dirty_trace WHERE ctid IN (SELECT ctid FROM ingest_dirty_trace LIMIT 2) RETURNING 1")
    await pressure.look(receiver.store.pool)
    await taken(web)


async def test_one_trace_that_waits_too_long_is_enough_but_a_poison_trace_is_not(
    web: httpx.AsyncClient, receiver: Receiver, rows: Any
) -> None:
    pressure = bounded(receiver, backlog_age_s=3600)
    await taken(web)
    hours_ago_ns = time.time_ns() - 2 * 3600 * 10**9
    rows("UPDATE ingest_dirty_trace SET due_unix_ns = %s, error = 'ValueError' RETURNING 1", hours_ago_ns)
    await pressure.look(receiver.store.pool)
    await taken(web)
    rows("UPDATE ingest_dirty_trace SET due_unix_ns = %s, error = '' RETURNING 1", hours_ago_ns)
    await pressure.look(receiver.store.pool)
    assert "the oldest trace waits 7200 s" in (await refused(web))[0]


async def test_the_time_to_wait_follows_how_fast_the_backlog_shrinks(
    receiver: Receiver, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [100.0]
    monkeypatch.setattr(pressure_module.time, "monotonic", lambda: now_s[0])
    pressure = bounded(receiver, backlog_traces=1000)
    assert pressure._until_calm_s(2000, 1000) == 5.0
    now_s[0] += 10
    assert pressure._until_calm_s(1900, 900) == 60.0  # 90 s at 10 a second, but nobody is sent away for that long
    now_s[0] += 10
    assert pressure._until_calm_s(1100, 400) == pytest.approx(5.0)


def test_a_drain_rate_forgets() -> None:
    drain = DrainRate()
    assert drain.seconds_for(100, 1.0) == 1.0
    for second in range(1, 40):
        drain.note(1000, float(second))
    assert drain.per_s == pytest.approx(1000, rel=0.2)
    assert drain.seconds_for(5000, 1.0) == pytest.approx(5, rel=0.25)
    drain.note(0, 100.0)
    assert drain.per_s == 0

"""What is acknowledged is durable, once; what cannot be kept is refused in a way that the client can act on."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest import leases
from ingest import store as store_module
from ingest.models import Project, Signal
from ingest.otlp.errors import BadData, Overloaded, StoreUnavailable
from ingest.otlp.split import Remainder
from ingest.store import GATHER_NS, Store
from tests.integration.store.parts import call, parts

pytestmark = pytest.mark.django_db(transaction=True)

CHUNKS = "SELECT trace_id, xmin::text AS written_by FROM ingest_chunk"
DUE = "SELECT due_unix_ns, due_unix_ns - received_unix_ns AS waits_ns FROM ingest_dirty_trace"
MARKS = "SELECT trace_id, generation, xmin::text AS written_by FROM ingest_dirty_trace"


async def test_the_same_batch_twice_is_stored_once(store: Store, project: Project, rows: Any) -> None:
    sent = parts(call(), call())
    await store.keep(project.pk, sent, None)
    await store.keep(project.pk, sent, None)
    assert len(rows(CHUNKS)) == 2
    assert [mark["generation"] for mark in rows(MARKS)] == [2, 2]


async def test_metrics_twice_are_stored_once(store: Store, project: Project, rows: Any) -> None:
    for _ in range(2):
        await store.keep(project.pk, [], Remainder(Signal.METRICS, 3, b"three metrics"))
    assert rows("SELECT items FROM ingest_body") == [{"items": 3}]


async def test_the_mark_is_written_with_the_spans(store: Store, project: Project, rows: Any) -> None:
    await store.keep(project.pk, parts(call()), None)
    (chunk,), (mark,) = rows(CHUNKS), rows(MARKS)
    assert chunk == {key: mark[key] for key in chunk}


async def test_the_same_trace_in_two_projects_is_two_traces(store: Store, project: Project, rows: Any) -> None:
    other = await Project.objects.acreate(slug="beta", name="Beta")
    sent = parts(call())
    await asyncio.gather(store.keep(project.pk, sent, None), store.keep(other.pk, sent, None))
    assert len(rows(CHUNKS)) == len(rows(MARKS)) == len(rows("SELECT 1 FROM ingest_trace")) == 2


async def test_concurrent_requests_share_commits(store: Store, project: Project, rows: Any) -> None:
    sent = [parts(call()) for _ in range(60)]
    await asyncio.gather(*(store.keep(project.pk, one, None) for one in sent))
    written = rows(CHUNKS)
    assert len(written) == 60
    assert len({row["written_by"] for row in written}) <= 10


async def test_a_worker_is_woken_after_the_commit_and_not_for_metrics(
    database_url: str, project: Project, rows: Any
) -> None:
    seen: list[tuple[int, float]] = []
    async with Store(database_url, 1 << 20, lambda after_s: seen.append((len(rows(CHUNKS)), after_s))) as store:
        await store.keep(project.pk, [], Remainder(Signal.METRICS, 1, b"a metric"))
        await store.keep(project.pk, parts(call()), None)
    assert seen == [(1, 0.0)]


async def test_a_trace_of_whose_end_nothing_has_come_waits_for_more_of_it(
    database_url: str, project: Project, rows: Any
) -> None:
    woken: list[float] = []
    root, second, third = call(), call(), call()
    for child in (second, third):
        child.trace_id, child.parent_span_id = root.trace_id, root.span_id
    async with Store(database_url, 1 << 20, woken.append) as store:
        await store.keep(project.pk, parts(second), None)
        (first,) = rows(DUE)
        assert (first["waits_ns"], woken) == (GATHER_NS, [GATHER_NS / 1e9])
        await store.keep(project.pk, parts(third), None)
        (still,) = rows(DUE)
        assert still["due_unix_ns"] == first["due_unix_ns"]  # more of the same puts off nothing
        await store.keep(project.pk, parts(root), None)
        (ended,) = rows(DUE)
        assert (ended["waits_ns"] <= 0, woken[-1]) == (True, 0.0)


async def test_what_comes_while_its_trace_is_in_work_waits_anew(database_url: str, project: Project, rows: Any) -> None:
    root, child = call(), call()
    child.trace_id, child.parent_span_id = root.trace_id, root.span_id
    async with Store(database_url, 1 << 20, lambda _: None) as store:
        await store.keep(project.pk, parts(root), None)
        assert await sync_to_async(leases.claim)(time.time_ns(), 10)
        await store.keep(project.pk, parts(child), None)
    assert [mark["waits_ns"] for mark in rows(DUE)] == [GATHER_NS]


async def test_what_waits_at_shutdown_is_stored_first(database_url: str, project: Project, rows: Any) -> None:
    async with Store(database_url, 1 << 20, lambda _: None) as store:
        keeping = asyncio.gather(*(store.keep(project.pk, parts(call()), None) for _ in range(20)))
        await asyncio.sleep(0)
    await keeping
    assert len(rows(CHUNKS)) == 20


async def held(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let nothing be written until the returned function is called."""
    leave, write = asyncio.Event(), store._write

    async def wait(batches: list[Any]) -> None:
        await leave.wait()
        await write(batches)

    monkeypatch.setattr(store, "_write", wait)
    return leave.set


async def test_over_its_limit_it_refuses_and_then_recovers(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = await held(store, monkeypatch)
    store.pending_limit_bytes = 1000
    first = asyncio.ensure_future(store.keep(project.pk, parts(call(name="x" * 900)), None))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded, match="send again") as refused:
        await store.keep(project.pk, parts(call()), None)
    assert refused.value.retry_after_s
    release()
    await first
    await store.keep(project.pk, parts(call()), None)
    assert store.pending_bytes == 0


async def test_a_batch_larger_than_the_limit_is_taken_when_nothing_waits(store: Store, project: Project) -> None:
    store.pending_limit_bytes = 10
    await store.keep(project.pk, parts(call()), None)


async def test_a_client_that_leaves_frees_its_place_and_its_spans_are_kept(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = await held(store, monkeypatch)
    leaving = asyncio.ensure_future(store.keep(project.pk, parts(call()), None))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    release()
    await store._queue.join()
    assert len(rows(CHUNKS)) == 1


@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_with_the_database_away_nothing_is_acknowledged(project: Project, rows: Any) -> None:
    nowhere = "host=/nonexistent dbname=none connect_timeout=1"
    store = Store(nowhere, 1 << 20, lambda _: pytest.fail("nothing was stored"))
    store.pool.timeout = 0.2
    async with store:
        with pytest.raises(StoreUnavailable, match="send again"):
            await store.keep(project.pk, parts(call()), None)
    assert rows(CHUNKS) == rows(MARKS) == []


async def test_a_connection_that_is_killed_costs_one_retry(store: Store, project: Project, rows: Any) -> None:
    await store.keep(project.pk, parts(call()), None)
    ours = "application_name = 'sixstage-store' AND datname = current_database()"  # other workers' tests go on
    rows(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}")
    sent = parts(call())
    for _ in range(4):
        try:
            await store.keep(project.pk, sent, None)
            break
        except StoreUnavailable:
            continue
    assert len(rows(CHUNKS)) == 2


async def test_a_batch_that_the_database_refuses_fails_alone(store: Store, project: Project, rows: Any) -> None:
    bad = Remainder(70_000, 1, b"no such signal fits its column")  # type: ignore[arg-type]
    outcomes = await asyncio.gather(
        store.keep(project.pk, parts(call()), None),
        store.keep(project.pk, [], bad),
        store.keep(project.pk, parts(call()), None),
        return_exceptions=True,
    )
    assert [type(outcome) for outcome in outcomes] == [type(None), BadData, type(None)]
    assert len(rows(CHUNKS)) == 2


async def test_without_a_partition_the_client_keeps_its_spans(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    century_ns = int(dt.datetime(2199, 1, 1, tzinfo=dt.UTC).timestamp()) * 10**9
    with monkeypatch.context() as patch:
        patch.setattr(store_module.time, "time_ns", lambda: century_ns)
        with pytest.raises(StoreUnavailable):
            await store.keep(project.pk, parts(call()), None)
    await store.keep(project.pk, parts(call()), None)
    assert len(rows(CHUNKS)) == 1


async def test_a_failed_commit_leaves_nothing_behind(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(store_module, "MARK_DIRTY", "SELECT 1 / 0")
        with pytest.raises((BadData, StoreUnavailable)):
            await store.keep(project.pk, parts(call()), None)
    assert rows(CHUNKS) == rows("SELECT 1 FROM ingest_trace") == []

"""Workers side by side: every dirty trace is decomposed, by one of them, with all its spans, whoever dies or fails."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections

from ingest import decomposing, leases, replacing
from ingest.decomposing import Decomposed, decompose_dirty
from ingest.leases import BACK_OFF_NS, LEASE_NS, MAX_TRIES
from ingest.models import Project
from ingest.rows import Rows
from ingest.spans import Span
from ingest.store import Store
from tests.integration.store.parts import IDLE_NS, SECOND_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)

decompose = decomposing.decompose
Keep = Callable[..., Awaitable[bytes]]
MARKS = "SELECT * FROM ingest_dirty_trace"


@pytest.fixture
def keep(store: Store, project: Project) -> Keep:
    """Store spans of one trace; gives its id."""

    async def keep_spans(*spans: Any) -> bytes:
        await store.keep(project.pk, parts(*(spans or [call()])), None)
        return bytes(spans[0].trace_id) if spans else b""

    return keep_spans


async def one_pass(later_ns: int = 0) -> Decomposed:
    return await sync_to_async(decompose_dirty)(time.time_ns() + later_ns, IDLE_NS)


def instead(monkeypatch: pytest.MonkeyPatch, act: Callable[[Sequence[Span]], None]) -> None:
    """Have ``act`` happen while a trace is being decomposed."""

    def decompose_and_act(spans: Sequence[Span]) -> Any:
        act(spans)
        return decompose(spans)

    monkeypatch.setattr(decomposing, "decompose", decompose_and_act)


async def test_a_pass_writes_the_runs_and_clears_the_marks(keep: Keep, project: Project, rows: Any) -> None:
    trace_id = await keep(call())
    done = await one_pass()
    assert [run.trace_id for run in done.runs[project.pk]] == [trace_id.hex()]
    assert len(rows("SELECT 1 FROM ingest_run")) == len(rows("SELECT 1 FROM ingest_call")) == 1
    assert rows(MARKS) == []
    assert (await one_pass()).traces == 0


async def test_the_last_of_two_spans_with_one_id_wins(keep: Keep, rows: Any) -> None:
    first = call()
    await keep(first)
    await one_pass()
    second = call(trace_id=first.trace_id, span_id=first.span_id, start_time_unix_nano=first.start_time_unix_nano)
    second.end_time_unix_nano = first.end_time_unix_nano + SECOND_NS
    await keep(second)
    await one_pass()
    assert rows("SELECT wall_ns FROM ingest_run") == [{"wall_ns": 2 * SECOND_NS}]
    assert rows("SELECT end_unix_ns - start_unix_ns AS wall_ns FROM ingest_call") == [{"wall_ns": 2 * SECOND_NS}]


async def test_the_same_spans_again_change_nothing(keep: Keep, rows: Any) -> None:
    span = call()
    await keep(span)
    await one_pass()
    before = rows("SELECT * FROM ingest_run")[0]
    await keep(span)
    await one_pass()
    (after,) = rows("SELECT * FROM ingest_run")
    assert {k: v for k, v in after.items() if k != "settles_unix_ns"} == {
        k: v for k, v in before.items() if k != "settles_unix_ns"
    }


async def test_workers_side_by_side_never_take_the_same_trace(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep(*(call() for _ in range(300)))
    taken: Counter[str] = Counter()
    instead(monkeypatch, lambda spans: taken.update([spans[0].trace_id]))

    def work() -> None:
        while decompose_dirty(time.time_ns(), IDLE_NS, limit=20).traces:
            pass
        connections.close_all()

    await asyncio.gather(*(asyncio.to_thread(work) for _ in range(3)))
    assert len(taken) == 300
    assert set(taken.values()) == {1}
    assert len(rows("SELECT 1 FROM ingest_run")) == 300
    assert rows(MARKS) == []


async def test_a_worker_that_died_gives_its_traces_back(keep: Keep) -> None:
    await keep()
    await sync_to_async(leases.claim)(time.time_ns(), 10)
    assert (await one_pass()).traces == 0
    assert (await one_pass(LEASE_NS + SECOND_NS)).traces == 1


async def test_a_worker_that_lost_its_lease_writes_nothing(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep()
    instead(monkeypatch, lambda _: rows("UPDATE ingest_dirty_trace SET claimed_until_unix_ns = 77 RETURNING 1"))
    assert (await one_pass()).runs == {}
    assert rows("SELECT 1 FROM ingest_run") == []
    assert [mark["claimed_until_unix_ns"] for mark in rows(MARKS)] == [77]


async def test_a_span_that_comes_between_reading_and_clearing_is_not_lost(
    keep: Keep, store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = call()
    late = call(trace_id=first.trace_id)
    await keep(first)
    loop = asyncio.get_running_loop()

    def store_the_late_one(spans: Sequence[Span]) -> None:
        if len(spans) == 1:
            asyncio.run_coroutine_threadsafe(store.keep(project.pk, parts(late), None), loop).result(20)

    instead(monkeypatch, store_the_late_one)
    await one_pass()
    (mark,) = rows(MARKS)
    assert (mark["generation"], mark["claimed_until_unix_ns"]) == (2, 0)
    assert (await one_pass()).traces == 1
    assert len(rows("SELECT 1 FROM ingest_call")) == 2
    assert rows(MARKS) == []


def failing(monkeypatch: pytest.MonkeyPatch, trace_id: bytes, error: Exception) -> None:
    def fail(spans: Sequence[Span]) -> None:
        if spans[0].trace_id == trace_id.hex():
            raise error

    instead(monkeypatch, fail)


async def test_a_trace_that_cannot_be_decomposed_is_set_aside_and_the_others_go_on(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep()
    poison = await keep(call())
    await keep()
    failing(monkeypatch, poison, ValueError("a nul \x00 in its reason"))
    done = await one_pass()
    assert done.traces == 3
    assert len(rows("SELECT 1 FROM ingest_run")) == 2
    (mark,) = rows(MARKS)
    assert mark["trace_id"] == poison
    assert mark["error"] == "ValueError: a nul  in its reason"
    assert (mark["tries"], mark["claimed_until_unix_ns"]) == (1, 0)


async def test_it_is_tried_again_later_but_not_forever_and_anew_with_a_new_span(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = call()
    failing(monkeypatch, await keep(span), ValueError("no"))
    assert (await one_pass()).traces == 1
    assert (await one_pass()).traces == 0
    for time_round in range(1, MAX_TRIES):
        assert (await one_pass(BACK_OFF_NS * 2 ** (2 * time_round))).traces == 1
    assert (await one_pass(BACK_OFF_NS * 2**20)).traces == 0
    monkeypatch.setattr(decomposing, "decompose", decompose)
    await keep(call(trace_id=span.trace_id))
    assert (await one_pass()).traces == 1
    assert len(rows("SELECT 1 FROM ingest_call")) == 2


async def test_a_chunk_that_cannot_be_read_holds_up_no_other_trace(keep: Keep, rows: Any) -> None:
    await keep()
    broken = await keep(call())
    rows("UPDATE ingest_chunk SET body = 'broken' WHERE trace_id = %s RETURNING 1", broken)
    await one_pass()
    assert len(rows("SELECT 1 FROM ingest_run")) == 1
    (mark,) = rows(MARKS)
    assert mark["trace_id"] == broken
    assert mark["error"]


async def test_a_row_that_cannot_be_written_holds_up_no_other_trace(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = await keep(call()), await keep(call())

    class Absurd(Rows):
        def add(self, run: Any, *rest: Any, **more: Any) -> None:
            super().add(run, *rest, **more)
            if run.trace_id == bad.hex():
                start, end, _, *others = self.calls[-1]
                self.calls[-1] = start, end, 2**70, *others

    monkeypatch.setattr(replacing, "Rows", Absurd)
    await one_pass()
    assert [run["trace_id"] for run in rows("SELECT trace_id FROM ingest_run")] == [good]
    assert [mark["trace_id"] for mark in rows(MARKS)] == [bad]


@pytest.mark.parametrize("step", ["open_calls", "questions"])
async def test_a_trace_that_cannot_be_joined_or_estimated_holds_up_no_other(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    good, bad = await keep(call()), await keep(call())
    module = decomposing.joining if step == "open_calls" else decomposing.basis
    asked = getattr(module, step)

    def fail(decomposition: Any, *rest: Any) -> Any:
        if decomposition.runs[0].trace_id == bad.hex():
            raise ValueError("odd")
        return asked(decomposition, *rest)

    monkeypatch.setattr(module, step, fail)
    monkeypatch.setattr(decomposing.joining, "any_offers", lambda: True)  # without any, no call is looked at
    assert (await one_pass()).traces == 2
    assert [run["trace_id"] for run in rows("SELECT trace_id FROM ingest_run")] == [good]
    assert [(mark["trace_id"], mark["error"]) for mark in rows(MARKS)] == [(bad, "ValueError: odd")]


class Killed(BaseException):
    """The end of a worker, which no handler of errors sees."""


async def test_a_trace_that_kills_its_workers_is_set_aside_and_none_with_it(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = {await keep(call()) for _ in range(10)}
    killer = await keep(call())
    good |= {await keep(call()) for _ in range(10)}

    def kill(spans: Sequence[Span]) -> None:
        if spans[0].trace_id == killer.hex():
            raise Killed

    instead(monkeypatch, kill)
    deaths, more = 0, True
    while more:
        try:
            more = (await one_pass((deaths + 1) * (LEASE_NS + SECOND_NS))).more  # the leases of the dead have ended
        except Killed:
            deaths += 1
    assert deaths == MAX_TRIES, "once in a batch, and alone from then on"
    assert {run["trace_id"] for run in rows("SELECT trace_id FROM ingest_run")} == good
    (mark,) = rows(MARKS)
    assert (mark["trace_id"], mark["error"]) == (killer, leases.DIED)


async def test_fresh_traces_are_not_claimed_with_one_that_was_tried(keep: Keep, rows: Any) -> None:
    tried, fresh = await keep(call()), [await keep(call()) for _ in range(3)]
    rows("UPDATE ingest_dirty_trace SET tries = 1 WHERE trace_id = %s RETURNING 1", tried)
    assert (await one_pass()).traces == 1
    assert {mark["trace_id"] for mark in rows(MARKS)} == set(fresh)
    rows("UPDATE ingest_dirty_trace SET tries = 1 WHERE trace_id = %s RETURNING 1", fresh[-1])
    assert (await one_pass()).traces == 2
    assert (await one_pass()).traces == 1
    assert rows(MARKS) == []


async def test_the_database_refuses_stages_that_do_not_add_up(keep: Keep, rows: Any) -> None:
    await keep()
    await one_pass()

    def stretch() -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE ingest_run SET wall_ns = wall_ns + 1")

    with pytest.raises(Exception, match="run_stages_add_up"):
        await sync_to_async(stretch)()

"""A database that fails under a worker: its traces are given back untried, and done when it is well again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from ingest import leases
from ingest.decomposing import decompose_dirty
from ingest.leases import MAX_TRIES
from ingest.models import Project
from ingest.rows import Rows
from ingest.store import Store
from tests.integration.store.parts import IDLE_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)

Keep = Callable[[], Awaitable[None]]
MARKS = "SELECT * FROM ingest_dirty_trace"


@pytest.fixture
def keep(store: Store, project: Project) -> Keep:
    async def keep_one() -> None:
        await store.keep(project.pk, parts(call()), None)

    return keep_one


async def one_pass() -> Any:
    return await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)


def copying_fails(monkeypatch: pytest.MonkeyPatch, act: Callable[[Any], None]) -> None:
    def copy(_rows: Rows, cursor: Any) -> None:
        act(cursor)

    monkeypatch.setattr(Rows, "copy", copy)


def _disk_full(_cursor: Any) -> None:
    raise psycopg.errors.DiskFull("could not extend file: No space left on device")


def _session_ended(cursor: Any) -> None:
    """As in a restart: the server ends the session in the midst of a transaction."""
    pid = cursor.connection.info.backend_pid
    other = connection.copy()
    with closing(other), other.cursor() as killing:
        killing.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    cursor.execute("SELECT 1")


@pytest.mark.parametrize("trouble", [_disk_full, _session_ended])
async def test_no_trace_has_been_tried_for_it(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[Any], None]
) -> None:
    for _ in range(3):
        await keep()
    with monkeypatch.context() as failing:
        copying_fails(failing, trouble)
        for _ in range(MAX_TRIES + 1):
            with pytest.raises(psycopg.OperationalError):
                await one_pass()
            assert {(mark["tries"], mark["error"], mark["claimed_until_unix_ns"]) for mark in rows(MARKS)} == {
                (0, "", 0)
            }
    assert (await one_pass()).traces == 3
    assert rows(MARKS) == []


async def test_the_try_before_it_still_counts(keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await keep()
    rows("UPDATE ingest_dirty_trace SET tries = 2, error = 'odd' RETURNING 1")
    copying_fails(monkeypatch, _disk_full)
    with pytest.raises(psycopg.OperationalError):
        await one_pass()
    assert [(mark["tries"], mark["error"]) for mark in rows(MARKS)] == [(2, "odd")]


async def test_what_cannot_be_given_back_now_is_given_back_by_the_next_pass(
    keep: Keep, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await keep()
    give_back = leases.give_back

    def down(claims: Sequence[Any]) -> None:
        raise psycopg.OperationalError("the database system is in recovery mode")

    with monkeypatch.context() as failing:
        copying_fails(failing, _session_ended)
        failing.setattr(leases, "give_back", down)
        with pytest.raises(psycopg.OperationalError):
            await one_pass()
    assert [mark["tries"] for mark in rows(MARKS)] == [1]
    assert leases.give_back is give_back
    assert (await one_pass()).traces == 1
    assert rows(MARKS) == []

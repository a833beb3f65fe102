"""Processes come, count, sleep and die; what they have counted together never goes back and is never doubled."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.conf import settings
from django.db import connections

from ingest.models import Process
from ingest.observing import measures, processes
from ingest.observing.processes import fold_ended, read_processes
from ingest.observing.reporter import Reporter
from ingest.observing.samples import total

pytestmark = pytest.mark.django_db(transaction=True)

Join = Callable[[], Reporter]


@pytest.fixture
def join(database_url: str) -> Iterator[Join]:
    joined: list[Reporter] = []

    def join() -> Reporter:
        joined.append(Reporter("worker", database_url, settings.SIXSTAGE_REDIS_URL))
        return joined[-1]

    yield join
    for reporter in joined:
        reporter.close()


def traces() -> float:
    return total(read_processes()[1], "sixstage_decomposed_traces_total")


def count(number: int) -> None:
    measures.DECOMPOSED_TRACES.inc(number)


def fall_silent() -> None:
    Process.objects.exclude(pk=Process.FOLDED).update(seen_unix_ns=0)


def test_a_process_tells_what_it_counted_since_it_began(join: Join) -> None:
    count(100)  # its parent's, before the fork
    worker = join()
    count(7)
    worker.flush()
    worker.flush()
    assert traces() == 7
    [row], _ = read_processes()
    assert (row.role, row.pid, row.is_fresh) == ("worker", os.getpid(), True)
    assert row.rss_bytes is None or row.rss_bytes > 1 << 20


def test_the_counts_of_one_that_ended_stay(join: Join) -> None:
    worker = join()
    count(7)
    worker.stop()
    assert (traces(), fold_ended(), traces()) == (7, 1, 7)
    assert read_processes()[0] == []
    count(3)  # by another process, which begins now
    other = join()
    count(5)
    other.flush()
    assert traces() == 12


def test_the_counts_of_one_that_was_killed_stay(join: Join) -> None:
    worker = join()
    count(7)
    worker.flush()
    fall_silent()
    assert not read_processes()[0][0].is_fresh
    assert (traces(), fold_ended(), traces()) == (7, 1, 7)
    assert fold_ended() == 0


def test_one_that_was_only_asleep_doubles_nothing(join: Join) -> None:
    worker = join()
    count(7)
    worker.flush()
    fall_silent()
    fold_ended()
    count(2)
    worker.flush()
    assert traces() == 9
    count(1)
    worker.flush()
    assert traces() == 10
    worker.stop()
    fold_ended()
    assert traces() == 10


def test_what_a_lost_database_did_not_hear_comes_later(join: Join) -> None:
    worker = join()
    count(7)
    worker.flush()
    url, worker.database_url = worker.database_url, "postgresql://none@/none?host=/nonexistent"
    assert worker._connection is not None
    worker._connection.close()
    count(2)
    with pytest.raises(psycopg.OperationalError):
        worker.flush()
    worker.database_url = url
    worker.flush()
    assert traces() == 9


def test_rates_are_of_the_last_minute_and_of_those_that_speak(join: Join) -> None:
    worker = join()
    count(7)
    worker.flush()
    living, _ = read_processes()
    assert total(processes.recent_of(living), "sixstage_decomposed_traces_total") == 7
    fall_silent()
    assert processes.recent_of(read_processes()[0]) == {}


def test_two_sweeps_at_once_fold_a_process_once(join: Join) -> None:
    worker = join()
    count(7)
    worker.stop()

    def sweep() -> int:
        try:
            return fold_ended()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as several:
        assert sum(several.map(lambda _: sweep(), range(4))) == 1
    assert traces() == 7

"""Histograms for an existing Grafana: each run counts once, when it has settled, and what is unknown not at all."""

from __future__ import annotations

import time

import pytest
from django.db import connection

from ingest.models import DirtyTrace, Project, Run, SettledUntil
from ingest.observing import settled
from ingest.observing.settled import BOUNDS_NS, OTHER, PAIRS_MOST, Settled, count_settled, read_settled
from ingest.partitions import today
from tests.integration.access.stored import store_run

pytestmark = pytest.mark.django_db(transaction=True)

SECOND_NS = 10**9


@pytest.fixture
def now_ns(project: Project) -> int:
    """The first look was a minute ago."""
    now_ns = time.time_ns()
    SettledUntil.objects.update_or_create(id=1, defaults={"counted_unix_ns": now_ns - 60 * SECOND_NS})
    return now_ns


def dirty(project: Project, received_ns: int, error: str = "") -> DirtyTrace:
    return DirtyTrace.objects.create(
        trace_id=bytes(16), project_id=project.pk, day=today(received_ns), received_unix_ns=received_ns,
        due_unix_ns=received_ns, error=error,
    )  # fmt: skip


def told(project: Project, measure: str) -> list[Settled]:
    return [one for one in read_settled([project.pk]) if one.measure == measure]


def test_a_settled_run_counts_once(project: Project, now_ns: int) -> None:
    store_run(project, ended_ns=now_ns - 10 * SECOND_NS, wall_ns=2 * SECOND_NS)
    for later_s in (0, 10, 20):
        assert count_settled(now_ns + later_s * SECOND_NS)
    [wall] = told(project, "wall")
    assert (sum(wall.counts), wall.sum_ns) == (1, 2 * SECOND_NS)
    bound = next(bound for bound, count in zip(BOUNDS_NS, wall.counts, strict=False) if count)
    assert bound == min(b for b in BOUNDS_NS if b >= 2 * SECOND_NS)


def test_a_value_at_a_bound_belongs_to_it(project: Project, now_ns: int) -> None:
    store_run(project, ended_ns=now_ns - 10 * SECOND_NS, wall_ns=SECOND_NS)
    count_settled(now_ns)
    assert told(project, "wall")[0].counts[BOUNDS_NS.index(SECOND_NS)] == 1


def test_a_run_that_has_not_settled_waits(project: Project, now_ns: int) -> None:
    store_run(project, ended_ns=now_ns + 20 * SECOND_NS)
    count_settled(now_ns)
    assert told(project, "wall") == []
    count_settled(now_ns + 30 * SECOND_NS)
    assert len(told(project, "wall")) == 1


def test_what_is_not_known_is_not_counted(project: Project, now_ns: int) -> None:
    store_run(project, ended_ns=now_ns - 10 * SECOND_NS)  # nobody tells its first token
    count_settled(now_ns)
    assert told(project, "ttft") == told(project, "call_ttft") == []
    assert len(told(project, "call_wall")) == 1


def test_stages_of_a_run_with_an_unsplit_call_are_not_counted_as_nothing(project: Project, now_ns: int) -> None:
    store_run(project, ended_ns=now_ns - 10 * SECOND_NS)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_run SET model_unsplit_ns = decode_ns, decode_ns = 0")
    count_settled(now_ns)
    assert told(project, "decode") == told(project, "prefill") == []
    assert [one.sum_ns for one in told(project, "model_unsplit")] == [2 * SECOND_NS]
    assert len(told(project, "tool_execution")) == 1


def test_nothing_is_missed_when_decomposition_is_behind(project: Project, now_ns: int) -> None:
    """A run that is written long after it should have settled: its mark holds the count back."""
    received_ns = now_ns - 40 * SECOND_NS
    mark = dirty(project, received_ns)
    count_settled(now_ns)
    mark.delete()
    store_run(project, ended_ns=received_ns + settled.SETTLE_NS)
    count_settled(now_ns)
    assert sum(told(project, "wall")[0].counts) == 1


def test_a_poison_trace_holds_nothing_back(project: Project, now_ns: int) -> None:
    dirty(project, now_ns - 50 * SECOND_NS, error="ValueError: no")
    store_run(project, ended_ns=now_ns - 10 * SECOND_NS)
    count_settled(now_ns)
    assert len(told(project, "wall")) == 1


def test_more_services_than_fit_are_told_as_other(project: Project, now_ns: int) -> None:
    for _ in range(PAIRS_MOST + 5):
        store_run(project, ended_ns=now_ns - 10 * SECOND_NS)
    for number, run in enumerate(Run.objects.all()):
        Run.objects.filter(trace_id=run.trace_id).update(service=f"service {number:03}")
    count_settled(now_ns)
    walls = told(project, "wall")
    assert len(walls) == PAIRS_MOST + 1
    assert [sum(one.counts) for one in walls if one.service == OTHER] == [5]
    assert sum(sum(one.counts) for one in walls) == PAIRS_MOST + 5

"""`manage.py recompute`: stored traces are decomposed again, in place, after what is fresh."""

from __future__ import annotations

import time
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command

from ingest import decomposing, recomputing
from ingest.decomposing import decompose_dirty
from ingest.models import Project
from ingest.otlp.requests import Refusals
from ingest.otlp.split import TracePart, split_traces
from ingest.rollups.verifying import verify
from ingest.stages import ALGORITHM
from ingest.store import Store
from tests.integration.otlp.messages import span, traces
from tests.integration.store.measured import measured, unmeasured
from tests.integration.store.parts import IDLE_NS, SECOND_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)

RUNS = "SELECT * FROM ingest_run ORDER BY trace_id"
MARKS = "SELECT trace_id, received_unix_ns, due_unix_ns, generation FROM ingest_dirty_trace ORDER BY due_unix_ns"
SOURCES = "SELECT source FROM ingest_call WHERE trace_id = %s"
ESTIMATED, UNKNOWN = 3, 4


async def one_pass(later_ns: int = 0) -> int:
    return (await sync_to_async(decompose_dirty)(time.time_ns() + later_ns, IDLE_NS)).traces


async def stored(store: Store, project: Project, *kept: list[TracePart]) -> None:
    for one in kept:
        await store.keep(project.pk, one, None)
        await one_pass()


async def recompute(*options: str) -> str:
    said = StringIO()
    await sync_to_async(call_command)("recompute", *options, stdout=said)
    return said.getvalue().strip()


def from_service(service: str, *spans: Any) -> list[TracePart]:
    return split_traces(traces(*spans, service=service), Refusals())


async def test_it_changes_nothing_where_nothing_has_changed(store: Store, project: Project, rows: Any) -> None:
    await stored(store, project, parts(call(), call(), measured(), unmeasured()))
    before = rows(RUNS)
    for _ in range(2):
        assert await recompute() == "4 traces will be computed again, the last in about 0 s"
        assert await one_pass(SECOND_NS) == 4
        assert rows(RUNS) == before
    assert rows(MARKS) == []


async def test_runs_of_an_older_version_change_in_place(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(store, project, parts(call()))
    before = rows(RUNS)[0]
    rows("UPDATE ingest_run SET algorithm = 0, wall_ns = 7, model_unsplit_ns = 7 RETURNING 1")
    await sync_to_async(lambda: list(verify(repair=True)))()  # for a row that was changed behind the rollups' back
    await stored(store, project, parts(call()))
    assert await recompute("--outdated", "--dry-run") == "1 traces would be computed again"
    await recompute("--outdated")
    assert await one_pass(SECOND_NS) == 1
    assert before in rows(RUNS)
    assert {run["algorithm"] for run in rows(RUNS)} == {ALGORITHM}
    assert await recompute("--outdated", "--dry-run") == "0 traces would be computed again"


async def test_a_settled_run_stays_settled(store: Store, project: Project, rows: Any) -> None:
    await stored(store, project, parts(call()))
    before = rows(RUNS)[0]["settles_unix_ns"]
    await recompute()
    await one_pass(SECOND_NS)
    assert rows(RUNS)[0]["settles_unix_ns"] == before


async def test_a_dry_run_marks_nothing(store: Store, project: Project, rows: Any) -> None:
    await stored(store, project, parts(call(), call()))
    assert await recompute("--dry-run") == "2 traces would be computed again"
    assert rows(MARKS) == []


async def test_it_goes_batch_by_batch_and_lets_fresh_traces_pass(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recomputing, "BATCH", 2)
    monkeypatch.setattr(recomputing.select_traces, "__defaults__", (2,))
    await stored(store, project, parts(*(call() for _ in range(6))))
    assert await recompute("--rate", "1") == "6 traces will be computed again, the last in about 6 s"
    first = rows(MARKS)[0]["due_unix_ns"]
    assert [(mark["due_unix_ns"] - first) // SECOND_NS for mark in rows(MARKS)] == [0, 0, 2, 2, 4, 4]
    fresh = call()
    await store.keep(project.pk, parts(fresh), None)
    assert await one_pass() == 3, "two of the old ones are due, and the fresh one"
    assert fresh.trace_id not in {mark["trace_id"] for mark in rows(MARKS)}


async def test_a_trace_of_several_runs_is_marked_once(store: Store, project: Project, rows: Any) -> None:
    one = call()
    await stored(store, project, parts(one, call(trace_id=one.trace_id)))
    assert len(rows(RUNS)) == 2
    await recompute()
    assert len(rows(MARKS)) == 1


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--service", "billing"], 1),
        (["--service", "nobody"], 0),
        (["--from", "2000-01-01"], 2),
        (["--to", "2000-01-01"], 0),
        (["--from", "2000-01-01", "--to", "2100-01-01T00:00:00+02:00"], 2),
        (["--project", "alpha"], 2),
        (["--project", "other"], 0),
        (["--trace", "ab" * 16], 1),
        (["--trace", "cd" * 16], 0),
    ],
)
async def test_it_chooses(store: Store, project: Project, options: list[str], chosen: int) -> None:
    await stored(store, project, from_service("billing", call(trace_id=b"\xab" * 16)), parts(call()))
    assert await recompute("--dry-run", *options) == f"{chosen} traces would be computed again"


@pytest.mark.parametrize("options", [["--trace", "xyz"], ["--from", "yesterday"], ["--rate", "0"]])
async def test_it_refuses_what_it_cannot_read(project: Project, options: list[str]) -> None:
    with pytest.raises(CommandError, match="argument"):
        await recompute(*options)


async def test_traces_without_a_run_are_tried_too(store: Store, project: Project, rows: Any) -> None:
    await stored(store, project, parts(span("nothing of a model")))
    assert rows(RUNS) == []
    assert await recompute("--dry-run") == "1 traces would be computed again"
    assert await recompute("--dry-run", "--outdated") == "0 traces would be computed again"


async def test_what_was_set_aside_is_tried_again(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any) -> Any:
        raise ValueError("an old fault")

    with monkeypatch.context() as faulty:
        faulty.setattr(decomposing, "decompose", fail)
        await stored(store, project, parts(call()))
    rows("UPDATE ingest_dirty_trace SET tries = 5 RETURNING 1")
    assert await one_pass(3600 * SECOND_NS) == 0
    await recompute()
    assert await one_pass(SECOND_NS) == 1
    assert len(rows(RUNS)) == 1


async def test_a_new_basis_is_measured_only_when_asked_for(store: Store, project: Project, rows: Any) -> None:
    await stored(store, project, parts(one := unmeasured()), parts(*(measured() for _ in range(5))))
    await recompute()
    await one_pass(SECOND_NS)
    assert rows(SOURCES, one.trace_id) == [{"source": UNKNOWN}]
    await recompute("--new-basis")
    await one_pass(SECOND_NS)
    assert rows(SOURCES, one.trace_id) == [{"source": ESTIMATED}]


async def test_a_pass_that_has_read_the_old_basis_does_not_write_it_back(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(store, project, parts(one := unmeasured()), parts(*(measured() for _ in range(5))))
    await store.keep(project.pk, parts(span("late", trace_id=one.trace_id, parent_span_id=one.span_id)), None)
    answer = decomposing.basis.answer

    def read_and_be_overtaken(asked: Any) -> Any:
        answers = answer(asked)
        recomputing.mark(project.pk, [one.trace_id], time.time_ns(), new_basis=True)
        return answers

    with monkeypatch.context() as crossing:
        crossing.setattr(decomposing.basis, "answer", read_and_be_overtaken)
        await one_pass()
    assert await one_pass(SECOND_NS) == 1
    assert rows(SOURCES, one.trace_id) == [{"source": ESTIMATED}]

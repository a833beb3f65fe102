"""Rollups from deltas: folded once whoever dies, bounded in keys, by the project's days; verified and put right."""

from __future__ import annotations

import datetime as dt
import random
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from ingest.models import Project, Rollup, RollupAdmitted, RollupDelta
from ingest.read.runs import RunFilter
from ingest.read.summary import Question, summarise
from ingest.rollups import folding
from ingest.rollups.folding import count_up, fold
from ingest.rollups.packing import unpack_cell
from ingest.rollups.steps import Step
from ingest.rollups.verifying import verify
from ingest.rows import Rows
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, utc, writing

pytestmark = pytest.mark.django_db

NOON = utc(2025, 6, 1, 12, 0)
HOURS = 3600 * SECOND_NS
DAY = dt.date(2025, 6, 1)


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha", zone="Asia/Kolkata")


def some_runs(number: int = 60, **fields: Any) -> list[Any]:
    chance = random.Random(3)
    return [drawn(chance, at, NOON + chance.randint(-20, 20) * HOURS, **fields) for at in range(number)]


def kept() -> dict[Any, Any]:
    return {row.pk: unpack_cell(bytes(row.body)) for row in Rollup.objects.all()}


def verified() -> tuple[int, str]:
    """Exit code and what is printed."""
    told = StringIO()
    try:
        call_command("verify_rollups", stdout=told)
    except SystemExit as end:
        return int(str(end.code)), told.getvalue()
    return 0, told.getvalue()


def test_folding_in_other_portions_and_orders_makes_the_same_rows(project: Project) -> None:
    runs = some_runs()
    keep(project, runs, batch=7)
    while fold(most=2):
        assert list(verify()) == []
    assert kept()
    sums = sorted((pk[1], pk[2], pk[3], repr(cell)) for pk, cell in kept().items())
    with writing() as (_cursor, gathered):
        rows = Rows()
        for run in runs:
            rows.add(run, project.pk, DAY, 0, 1)
        gathered.add_rows(rows)
        for place in list(gathered.groups):
            gathered.groups[place[0], -1, *place[2:]] = gathered.groups.pop(place)
    assert fold() == 1
    assert kept() == {}  # all was taken back
    for table in ("run", "call", "tool"):
        connection.cursor().execute(f"DELETE FROM ingest_{table}")
    keep(project, runs[::-1], batch=60)
    fold()
    assert sorted((pk[1], pk[2], pk[3], repr(cell)) for pk, cell in kept().items()) == sums


def test_counting_up_what_waits_changes_nothing_that_is_told_or_folded(project: Project) -> None:
    runs = some_runs()
    keep(project, runs, batch=7)
    fold()
    straight = kept()
    for table in (Rollup, RollupAdmitted):
        table.objects.all().delete()
    for table in ("run", "call", "tool"):
        connection.cursor().execute(f"DELETE FROM ingest_{table}")

    for part in (runs[:30], runs[30:]):
        keep(project, part, batch=7)
        while count_up(most=3):
            assert list(verify()) == []
    assert not RollupDelta.objects.filter(counted=False).exists()
    assert list(verify()) == []
    assert count_up() == 0
    while fold(most=1):
        assert list(verify()) == []
    assert kept() == straight


def test_days_are_the_projects_own_and_follow_its_zone(project: Project) -> None:
    keep(project, some_runs())
    fold()
    day = 24 * HOURS
    starts = set(Rollup.objects.filter(step=Step.DAY).values_list("start_unix_ns", flat=True))
    assert {(start + 5 * HOURS + HOURS // 2) % day for start in starts} == {0}
    Project.objects.update(zone="America/St_Johns")
    assert list(verify()) == []
    fold()
    starts = set(Rollup.objects.filter(step=Step.DAY).values_list("start_unix_ns", flat=True))
    assert {(start - 2 * HOURS - HOURS // 2) % day for start in starts} == {0}
    assert list(verify()) == []


def test_keys_beyond_the_bound_are_told_as_other_and_corrected_there(project: Project) -> None:
    chance = random.Random(5)
    runs = [drawn(chance, at, NOON, service=f"s-{at}") for at in range(30)]
    keep(project, runs, batch=10)
    while fold(keys_most=10, most=1):
        pass
    assert RollupAdmitted.objects.filter(full=True).exists()
    assert list(verify()) == []
    asked = Question(wanted=RunFilter(from_unix_ns=NOON - HOURS, to_unix_ns=NOON + HOURS), group_by="service")
    found = summarise(Scope(project_id=project.pk), asked, NOON)
    assert found.runs == 30
    (rest,) = [group for group in found.groups if group.is_other]
    assert rest.figures.runs
    assert rest.figures.runs.count == 20
    narrowed = Question(wanted=RunFilter(from_unix_ns=NOON - HOURS, to_unix_ns=NOON + HOURS, service="s-29"))
    found = summarise(Scope(project_id=project.pk), narrowed, NOON)
    assert (found.runs, found.made_from_by["runs"]) == (1, "rows")


def test_what_differs_is_found_told_and_put_right(project: Project) -> None:
    assert verified() == (0, "rollups are what the rows add up to\n")
    keep(project, some_runs(20))
    RollupDelta.objects.all().delete()
    code, told = verified()
    assert code == 1
    assert f"project {project.pk}, minute 2025-0" in told
    call_command("verify_rollups", "--repair", stdout=StringIO())
    assert verified()[0] == 0
    fold()
    assert verified()[0] == 0
    Rollup.objects.filter(step=Step.QUARTER, kind=0).delete()
    assert verified()[0] == 1
    call_command("verify_rollups", "--repair", stdout=StringIO())
    fold()
    assert verified()[0] == 0


def test_what_was_stored_before_there_were_rollups_is_counted_once(project: Project) -> None:
    keep(project, some_runs(20))
    RollupDelta.objects.all().delete()
    call_command("prepare")
    assert verified() == (0, "rollups are what the rows add up to\n")
    counted = RollupDelta.objects.count()
    call_command("prepare")
    assert RollupDelta.objects.count() == counted


def test_only_one_folds_at_a_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(project, some_runs(5))

    class Busy:
        def __enter__(self) -> Busy:
            return self

        def __exit__(self, *_: object) -> None: ...
        def execute(self, *_: object) -> None: ...
        def fetchone(self) -> tuple[bool]:
            return (False,)

    with monkeypatch.context() as patched:
        patched.setattr(folding, "direct_cursor", Busy)
        assert fold() is None
    assert fold() == 1

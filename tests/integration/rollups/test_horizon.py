"""Short steps are dropped in time; what is left answers as exactly as it can, and says from when to when."""

from __future__ import annotations

import random
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from ingest.models import Project, Rollup
from ingest.partitions import today
from ingest.read.runs import RunFilter
from ingest.read.summary import Question, summarise
from ingest.read.values import Summary
from ingest.rollups.counting import Kind
from ingest.rollups.folding import fold_all, zone_of
from ingest.rollups.horizon import TELL, Gone, drop_steps
from ingest.rollups.steps import HOUR_NS, MINUTE_NS, QUARTER_NS, UTC_DAY_NS, Step, day_of
from ingest.rollups.verifying import verify
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import drawn, keep, utc

pytestmark = pytest.mark.django_db

NOW = utc(2025, 11, 20, 12, 34)
OLD, OLDER = NOW - 20 * UTC_DAY_NS, NOW - 450 * UTC_DAY_NS


@pytest.fixture
def project(db: None) -> Project:
    """Runs of today, of a time without minutes and of a time without hours, all within some hours of each."""
    project = Project.objects.create(slug="alpha", name="Alpha", zone="Asia/Kathmandu")
    chance = random.Random(2)
    ends = [at - chance.randrange(30 * HOUR_NS) for at in (NOW, OLD, OLDER) for _ in range(25)]
    keep(project, [drawn(chance, number, end_ns) for number, end_ns in enumerate(ends)])
    fold_all()
    return project


def drop(project: Project, *, runs: bool = False) -> None:
    assert drop_steps(NOW, minute_days=8, hour_days=400)
    if runs:
        with connection.cursor() as cursor:
            for table in ("run", "call", "tool"):
                cursor.execute(f"DELETE FROM ingest_{table} WHERE end_unix_ns < %s", [NOW - 5 * UTC_DAY_NS])
            cursor.execute(TELL, [int(Gone.RUNS), today(NOW - 6 * UTC_DAY_NS)])


def asked(project: Project, from_ns: int, to_ns: int, step: str | None = None, **more: str) -> Summary:
    wanted = RunFilter(from_unix_ns=from_ns, to_unix_ns=to_ns, **more)
    return summarise(Scope(project_id=project.pk), Question(wanted=wanted, step=step), NOW)


def test_only_short_steps_of_old_days_go(project: Project) -> None:
    drop(project)
    assert drop_steps(NOW, minute_days=8, hour_days=400) == 0
    for at_ns, wanted in ((NOW, set(Step)), (OLD, set(Step) - {Step.MINUTE}), (OLDER, {Step.DAY, Step.PLAIN_DAY})):
        near = Rollup.objects.filter(start_unix_ns__range=(at_ns - 3 * UTC_DAY_NS, at_ns))
        assert set(near.values_list("step", flat=True)) == wanted
    assert list(verify()) == []


@pytest.mark.parametrize("around", [NOW, OLD, OLDER])
def test_while_the_runs_are_stored_nothing_changes(project: Project, around: int) -> None:
    before = asked(project, around - 25 * HOUR_NS - 7, around - 3 * HOUR_NS + 11, "hour")
    assert before.runs
    drop(project)
    assert asked(project, around - 25 * HOUR_NS - 7, around - 3 * HOUR_NS + 11, "hour") == before


def test_without_the_runs_a_range_grows_to_the_steps_that_are_kept(project: Project) -> None:
    drop(project, runs=True)
    told = asked(project, OLD - 25 * HOUR_NS - 7, OLD - 3 * HOUR_NS + 11)
    assert (told.from_unix_ns % QUARTER_NS, told.to_unix_ns % QUARTER_NS) == (0, 0)
    assert told.from_unix_ns % MINUTE_NS == 0
    assert told.from_unix_ns < OLD - 25 * HOUR_NS - 7 < told.from_unix_ns + QUARTER_NS
    told = asked(project, OLDER - 25 * HOUR_NS, OLDER - 20 * HOUR_NS)
    zone = zone_of("Asia/Kathmandu")
    assert told.from_unix_ns == day_of(OLDER - 25 * HOUR_NS, zone)[0]
    assert told.runs
    told = asked(project, OLDER - 35 * HOUR_NS, NOW)
    assert told.runs == 75
    assert told.made_from == "rollups"


def test_steps_that_are_kept_no_more_cannot_be_asked_for(project: Project) -> None:
    drop(project, runs=True)
    query = {"from": OLD - 5 * HOUR_NS, "to": OLD, "step": "minute"}
    response = Client().get("/api/v1/summary", query)
    assert response.status_code == 422
    assert "expected steps that are still kept" in response.json()["detail"]
    assert Client().get("/api/v1/summary", query | {"step": "quarter"}).status_code == 200


def test_a_filter_finer_than_keys_says_from_when_it_was_counted(project: Project) -> None:
    drop(project, runs=True)
    told = asked(project, OLD - 25 * HOUR_NS, NOW, tool="search")
    assert told.looked_from_unix_ns == (NOW // UTC_DAY_NS - 5) * UTC_DAY_NS


def test_days_follow_a_new_zone_as_far_as_their_hours_are_kept(project: Project) -> None:
    drop(project, runs=True)
    everything = asked(project, OLDER - 40 * HOUR_NS, NOW + UTC_DAY_NS)
    Project.objects.update(zone="America/St_Johns")
    fold_all()
    assert list(verify()) == []
    told = asked(project, OLDER - 60 * HOUR_NS, NOW + UTC_DAY_NS)
    assert told.runs == everything.runs == 75
    assert told.total
    assert everything.total
    assert told.total == everything.total


def test_a_repair_sums_longer_steps_anew(project: Project) -> None:
    drop(project)
    kept = {row.pk: bytes(row.body) for row in Rollup.objects.all()}
    Rollup.objects.filter(
        step__in=[Step.HOUR, Step.PLAIN_DAY], kind=Kind.RUN, start_unix_ns__gte=OLD - 60 * HOUR_NS
    ).delete()
    assert list(verify())
    call_command("verify_rollups", "--repair", stdout=StringIO())
    fold_all()
    assert list(verify()) == []
    assert {row.pk: bytes(row.body) for row in Rollup.objects.all()} == kept

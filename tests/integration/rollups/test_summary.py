"""Rollups and rows give the same digits, whatever is asked, in whatever zone."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from ingest.models import Project, Run
from ingest.read import summary
from ingest.read.runs import RunFilter
from ingest.read.summary import GROUPS, Question, summarise
from ingest.read.values import Summary
from ingest.rollups.folding import count_all, fold
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, utc

pytestmark = pytest.mark.django_db

NIGHT = utc(2025, 10, 25, 22, 0)  # the night in which Berlin's clocks go back
HOURS = 3600 * SECOND_NS
RANGES = {
    "whole hours": (NIGHT - 20 * HOURS, NIGHT + 28 * HOURS),
    "to the nanosecond": (NIGHT - 20 * HOURS + 123, NIGHT + 9 * HOURS + 999_999_999),
    "within a minute": (NIGHT + 5, NIGHT + 50 * SECOND_NS),
    "five minutes": (NIGHT + 30 * SECOND_NS, NIGHT + 330 * SECOND_NS),
}
ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns")


@pytest.fixture
def project(db: None) -> Project:
    """150 runs over three days, many around one minute; some folded, some not; days are Berlin's."""
    project = Project.objects.create(slug="alpha", name="Alpha", zone="Europe/Berlin")
    chance = random.Random(7)
    ends = [NIGHT + chance.randint(-30 * HOURS, 40 * HOURS) for _ in range(110)]
    ends += [NIGHT + chance.randint(0, 300 * SECOND_NS) for _ in range(40)]
    ends[0], ends[1] = NIGHT - 20 * HOURS, NIGHT + 28 * HOURS  # on the borders
    runs = [drawn(chance, number, end_ns) for number, end_ns in enumerate(ends)]
    keep(project, runs[:100], batch=30)
    fold(2)
    fold()
    keep(project, runs[100:130])
    count_all()
    keep(project, runs[130:])
    return project


def both(monkeypatch: pytest.MonkeyPatch, project: Project, asked: Question) -> tuple[Summary, Summary]:
    """The answer made from rollups where that is possible, and the one made from rows."""
    scope = Scope(project_id=project.pk)
    usual = summarise(scope, asked, NIGHT)
    with monkeypatch.context() as patched:
        patched.setattr(summary.Reading, "from_rollups", lambda *_: False)
        rows = summarise(scope, asked, NIGHT)
    assert rows.made_from == "rows"
    return usual, rows


def same(told: Summary) -> Summary:
    return replace(told, made_from="", made_from_by={})


@pytest.mark.parametrize("of", RANGES)
@pytest.mark.parametrize("zone", ZONES)
def test_whatever_the_zone(monkeypatch: pytest.MonkeyPatch, project: Project, of: str, zone: str) -> None:
    wanted = RunFilter(from_unix_ns=RANGES[of][0], to_unix_ns=RANGES[of][1])
    for step in (None, "day", "hour"):
        usual, rows = both(monkeypatch, project, Question(wanted=wanted, step=step, zone=zone))
        assert usual.made_from == "rollups"
        assert usual.runs
        assert same(usual) == same(rows)
        if step:
            assert sum(one.total.runs.count for one in usual.steps if one.total and one.total.runs) == usual.runs


@pytest.mark.parametrize("group_by", GROUPS)
def test_whatever_it_is_grouped_by(monkeypatch: pytest.MonkeyPatch, project: Project, group_by: str) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS)
    usual, rows = both(monkeypatch, project, Question(wanted=wanted, group_by=group_by, step="quarter"))
    assert usual.made_from == "rollups"
    assert usual.groups
    assert same(usual) == same(rows)


FILTERS: dict[str, dict[str, Any]] = {
    "service": {"service": "shop"}, "agent and version": {"agent": "planner", "version": "2"},
    "environment": {"environment": "prod"}, "nothing there": {"environment": "test"}, "status": {"status": "error"},
}  # fmt: skip
FINER: dict[str, dict[str, Any]] = {
    "tool": {"tool": "search"}, "session": {"session": "s-1"}, "least wall": {"min_wall_ns": 10**9}, "text": {"q": "s"},
    "status open": {"status": "open"},
}  # fmt: skip


@pytest.mark.parametrize("name", [*FILTERS, "model"])
def test_whatever_is_filtered_by_keys(monkeypatch: pytest.MonkeyPatch, project: Project, name: str) -> None:
    narrowed = FILTERS.get(name, {"model": "small"})
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS, **narrowed)
    usual, rows = both(monkeypatch, project, Question(wanted=wanted))
    assert usual.made_from_by["runs"] == usual.made_from_by["calls"] == "rollups"
    assert usual.made_from == ("rows" if name == "model" else "rollups")  # keys of tools tell of no models
    assert same(usual) == same(rows)


@pytest.mark.parametrize("name", FINER)
def test_a_finer_filter_is_answered_from_rows(project: Project, name: str) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS, **FINER[name])
    found = summarise(Scope(project_id=project.pk), Question(wanted=wanted), NIGHT)
    assert found.made_from == "rows"
    assert found.looked_from_unix_ns is None


def test_rows_are_counted_newest_first_while_there_is_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS, q="s")
    found = summarise(Scope(project_id=project.pk), Question(wanted=wanted, budget_s=0), NIGHT)
    assert found.looked_from_unix_ns == NIGHT + 41 * HOURS
    assert found.runs == 0


def test_a_day_of_the_zone_has_twenty_five_hours_when_clocks_go_back(project: Project) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT, to_unix_ns=NIGHT + 25 * HOURS)
    found = summarise(Scope(project_id=project.pk), Question(wanted=wanted, step="day"), NIGHT)
    assert [(one.from_unix_ns, one.to_unix_ns) for one in found.steps] == [(NIGHT, NIGHT + 25 * HOURS)]


def test_totals_add_up_to_the_wall_time(project: Project) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS)
    total = summarise(Scope(project_id=project.pk), Question(wanted=wanted), NIGHT).total
    assert total
    assert total.runs
    assert sum(total.runs.totals_ns.values()) == total.runs.wall.sum_ns


def test_completion_by_ttft_band_counts_each_run_with_a_ttft_once(project: Project) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS)
    total = summarise(Scope(project_id=project.pk), Question(wanted=wanted), NIGHT).total
    assert total
    assert total.runs
    assert sum(band.runs for band in total.runs.completion) == total.runs.ttft.count
    told = Run.objects.filter(project_id=project.pk, ttft_ns__isnull=False, failed=False, root_ended=True)
    assert sum(band.completed for band in total.runs.completion) == told.count() > 0


def test_estimates_and_unsplit_runs_stay_out_of_quantiles(project: Project) -> None:
    wanted = RunFilter(from_unix_ns=NIGHT - 31 * HOURS, to_unix_ns=NIGHT + 41 * HOURS)
    total = summarise(Scope(project_id=project.pk), Question(wanted=wanted), NIGHT).total
    assert total
    assert total.runs
    assert total.calls
    assert total.runs.unsplit
    assert total.runs.stages["prefill"].count == total.runs.count - total.runs.unsplit
    assert total.calls.estimated
    assert total.calls.prefill.count == total.calls.count - total.calls.estimated


@pytest.mark.parametrize(
    "asked",
    [
        {"zone": "Mars/Olympus"}, {"group_by": "colour"}, {"step": "fortnight"}, {"step": "61"}, {"step": "-60"},
        {"step": "minute"}, {"status": "odd"}, {"to": NIGHT - 41 * HOURS},
        {"of": "runs,cats"},
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(project: Project, asked: dict[str, Any]) -> None:
    query = {"from": NIGHT - 40 * HOURS, "to": NIGHT + 40 * HOURS} | asked
    response = Client().get("/api/v1/summary", query)
    assert response.status_code == 422, response.content
    assert "expected" in response.json()["detail"]


def test_the_api_tells_all_of_it(project: Project) -> None:
    query = {"from": NIGHT - 31 * HOURS, "to": NIGHT + 41 * HOURS, "group_by": "service", "step": "day"}
    told = Client().get("/api/v1/summary", query).json()
    assert told["zone"] == "Europe/Berlin"
    assert told["made_from"] == "rollups"
    assert told["from_unix_ns"] == str(NIGHT - 31 * HOURS)
    assert {group["value"] for group in told["groups"]} == {"shop", "desk", None}
    assert told["total"]["runs"]["count"] == told["runs"] == 150
    assert len(told["steps"]) == 4
    only = Client().get("/api/v1/summary", query | {"of": "runs"}).json()
    assert (only["made_from_by"], only["total"]["calls"]) == ({"runs": "rollups"}, None)
    assert only["total"]["runs"] == told["total"]["runs"]

"""A chart's half-minutes are those counted from rows, though only minutes that changed are counted again."""

from __future__ import annotations

import random

import pytest

from ingest.models import Project
from ingest.read import half_minutes
from ingest.read.figuring import Sums
from ingest.read.half_minutes import sums_of_half_minutes
from ingest.read.live import figures, last_minutes, stage_steps
from ingest.read.runs import RunFilter
from ingest.read.summary import Question, summarise, sums_by_step
from ingest.rollups.counting import Cell, Kind
from ingest.rollups.steps import MINUTE_NS
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, project, utc

pytestmark = pytest.mark.django_db
__all__ = ["project"]

FROM = utc(2026, 5, 4, 10)
TO = FROM + 6 * MINUTE_NS


def keep_some(project: Project, seed: int, runs: int, from_ns: int, to_ns: int) -> None:
    chance = random.Random(seed)
    keep(project, [drawn(chance, seed * 1000 + n, chance.randrange(from_ns, to_ns)) for n in range(runs)])


def cells(sums: Sums) -> dict[tuple[Kind, int], Cell]:
    return {place: pile.as_cell() for place, pile in sums.cells.items()}


def test_they_are_what_rows_say_whatever_comes_meanwhile(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope(project_id=project.pk)
    counted: list[tuple[int | None, int | None]] = []
    real = half_minutes.sums_by_step

    def noted(scope: Scope, asked: Question, now_ns: int):  # type: ignore[no-untyped-def]
        if asked.step == "30":
            counted.append((asked.wanted.from_unix_ns, asked.wanted.to_unix_ns))
        return real(scope, asked, now_ns)

    monkeypatch.setattr(half_minutes, "sums_by_step", noted)

    def agree() -> None:
        step_s, told = sums_of_half_minutes(scope, FROM, TO, TO)
        assert step_s == 30
        asked = Question(wanted=RunFilter(from_unix_ns=FROM, to_unix_ns=TO), step="30", zone="UTC")
        from_rows = [(start, sums) for start, _, sums in sums_by_step(scope, asked, TO).steps]
        assert [start for start, _ in told] == [start for start, _ in from_rows]
        assert [cells(sums) for _, sums in told] == [cells(sums) for _, sums in from_rows]

    keep_some(project, 1, 40, FROM, FROM + 3 * MINUTE_NS)  # the last three minutes are empty
    agree()
    assert counted == [(FROM, FROM + 3 * MINUTE_NS)]
    agree()
    assert len(counted) == 1, "nothing has changed, so nothing is counted"
    keep_some(project, 2, 5, FROM + MINUTE_NS, FROM + MINUTE_NS + 10 * SECOND_NS)
    keep_some(project, 3, 5, FROM + 5 * MINUTE_NS, TO)
    agree()
    assert [from_ns for from_ns, _ in counted[1:]] == [FROM + MINUTE_NS, FROM + 5 * MINUTE_NS]


def test_key_figures_are_those_of_whole_minutes_by_the_api(project: Project) -> None:
    now_ns = FROM + 5 * MINUTE_NS + 17 * SECOND_NS
    keep_some(project, 4, 60, FROM - MINUTE_NS, now_ns)
    from_ns, to_ns = last_minutes(now_ns)
    assert (from_ns, to_ns) == (FROM, TO)
    scope = Scope(project_id=project.pk)
    shown = figures(scope, from_ns, to_ns, now_ns)
    window = RunFilter(from_unix_ns=from_ns, to_unix_ns=to_ns)
    told = summarise(scope, Question(wanted=window), now_ns)
    assert told.total
    assert told.total.runs
    assert told.made_from == "rollups"
    assert (shown.window_s, shown.runs, shown.wall.p95_ns) == (317, told.total.runs.count, told.total.runs.wall.p95_ns)


def test_a_chart_ends_with_the_step_that_has_begun(project: Project) -> None:
    keep_some(project, 5, 30, FROM, TO)
    _, steps = stage_steps(Scope(project_id=project.pk), FROM, FROM + 2 * MINUTE_NS + 10 * SECOND_NS, 30)
    assert [(step.start_unix_ns - FROM) // SECOND_NS for step in steps] == [0, 30, 60, 90, 120]


def test_a_chart_of_very_many_runs_is_told_by_minutes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = Scope(project_id=project.pk)
    keep_some(project, 6, 40, FROM + MINUTE_NS, FROM + 2 * MINUTE_NS)
    monkeypatch.setattr(half_minutes, "RUNS_MOST", 40)
    assert stage_steps(scope, FROM, TO, 30)[0] == 30
    monkeypatch.setattr(half_minutes, "RUNS_MOST", 39)
    step_s, steps = stage_steps(scope, FROM, TO, 30)
    assert step_s == 60
    assert [step.start_unix_ns for step in steps] == list(range(FROM, TO, MINUTE_NS))
    assert [step.runs for step in steps][:3] == [0, 40, 0]

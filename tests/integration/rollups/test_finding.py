"""Lists that look only where rollups say runs are find all of them, in order, whatever is folded yet."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from ingest.models import Project, Run
from ingest.read.runs import RunFilter, find_runs
from ingest.rollups.folding import fold
from ingest.rollups.horizon import drop_steps
from ingest.rollups.steps import HOUR_NS, MINUTE_NS, UTC_DAY_NS
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import drawn, keep, utc

pytestmark = pytest.mark.django_db

NOW = utc(2025, 11, 20, 12, 34) + 5
FILTERS: dict[str, dict[str, Any]] = {
    "service": {"service": "shop"},
    "a service with one run": {"service": "rare"},
    "a service with none": {"service": "nobody"},
    "version and agent": {"version": "1", "agent": "planner"},
    "failed": {"status": "error"},
    "model": {"model": "large"},
    "model in a range": {"model": "small", "from_unix_ns": NOW - 5 * UTC_DAY_NS + 7, "to_unix_ns": NOW - HOUR_NS - 9},
    "tool": {"tool": "search"},
    "slow": {"min_wall_ns": 10**10},
    "text": {"q": "boom"},
    "service and text": {"service": "desk", "q": "timed"},
    "session": {"session": "s-1"},
}


@pytest.fixture(params=["folded", "some folded", "none folded", "few keys", "hours dropped"])
def project(db: None, request: pytest.FixtureRequest) -> Project:
    """Runs of the last days, some of long ago, some that say to have ended in the future; several at one instant."""
    project = Project.objects.create(slug="alpha", name="Alpha", zone="Asia/Kolkata")
    chance = random.Random(4)
    ends = [NOW - chance.randrange(9 * UTC_DAY_NS) for _ in range(50)]
    ends += [NOW - 500 * UTC_DAY_NS + chance.randrange(UTC_DAY_NS) for _ in range(6)]
    ends += [NOW + chance.randrange(30 * UTC_DAY_NS) for _ in range(4)] + [NOW - MINUTE_NS] * 8
    runs = [drawn(chance, number, end_ns) for number, end_ns in enumerate(ends)]
    runs.append(drawn(chance, len(runs), NOW - 7 * UTC_DAY_NS, service="rare"))
    chance.shuffle(runs)
    keep(project, runs, batch=20)
    how = request.param
    if how != "none folded":
        while fold(most=1, keys_most=3 if how == "few keys" else None) and how != "some folded":
            pass
    if how == "hours dropped":
        assert drop_steps(NOW, minute_days=2, hour_days=3)
    return project


def wanted_ids(wanted: RunFilter) -> list[str]:
    """The same by looking at every run."""

    def fits(run: Run) -> bool:
        same = all(
            getattr(wanted, name) in (None, getattr(run, column))
            for name, column in (
                ("service", "service"), ("version", "version"), ("agent", "agent"), ("session", "session_id")
            )
        )  # fmt: skip
        return (
            same
            and (wanted.status is None or run.failed)
            and (wanted.model is None or wanted.model in (run.model_names or [run.model]))
            and (wanted.tool is None or wanted.tool in run.tool_names)
            and (wanted.min_wall_ns is None or run.wall_ns >= wanted.min_wall_ns)
            and (wanted.q is None or wanted.q in (run.error or ""))
            and (wanted.from_unix_ns is None or run.end_unix_ns >= wanted.from_unix_ns)
            and (wanted.to_unix_ns is None or run.end_unix_ns < wanted.to_unix_ns)
        )

    found = [(run.end_unix_ns, bytes(run.trace_id), bytes(run.root_span_id)) for run in Run.objects.all() if fits(run)]
    return [f"{trace.hex()}-{root.hex()}" for _, trace, root in sorted(found, reverse=True)]


def walked(project: Project, wanted: RunFilter, **more: Any) -> list[str]:
    """All pages one after the other."""
    found: list[str] = []
    cursor: str | None = None
    for _ in range(100):
        page = find_runs(Scope(project_id=project.pk), replace(wanted, cursor=cursor), NOW, **more)
        found += [run.run_id for run in page.runs]
        cursor = page.next_cursor
        if cursor is None:
            return found
    raise AssertionError("pages without an end")


def test_every_run_that_fits_is_found_once_and_in_order(project: Project) -> None:
    for name, narrowed in FILTERS.items():
        wanted = RunFilter(**narrowed, limit=4)
        assert walked(project, wanted) == wanted_ids(wanted), name
    assert wanted_ids(RunFilter(service="rare"))


def test_orders_other_than_by_time_are_over_all_that_fit(project: Project) -> None:
    wanted = RunFilter(status="error", sort="slowest", limit=4)
    page = find_runs(Scope(project_id=project.pk), wanted, NOW)
    assert page.runs[0].wall_ns == max(run.wall_ns for run in Run.objects.filter(failed=True))
    assert sorted(walked(project, wanted)) == sorted(wanted_ids(wanted))


def test_when_the_time_is_up_the_page_says_how_far_it_looked(project: Project) -> None:
    page = find_runs(Scope(project_id=project.pk), RunFilter(q="boom"), NOW, budget_s=0)
    assert page.runs == []
    assert page.looked_from_unix_ns is not None
    assert page.next_cursor is not None
    rest = find_runs(Scope(project_id=project.pk), RunFilter(q="boom", cursor=page.next_cursor), NOW)
    assert [run.run_id for run in rest.runs] == wanted_ids(RunFilter(q="boom"))


@pytest.mark.parametrize("sort", ["slowest", "tokens", "ttft", "tool_execution"])
def test_what_is_highest_is_found_where_rollups_say_it_is(project: Project, sort: str) -> None:
    """The same order as by looking at every run, page by page."""
    column = {"slowest": "wall_ns", "tokens": "input_tokens", "ttft": "ttft_ns"}.get(sort, "tool_execution_ns")
    for name, narrowed in FILTERS.items():
        wanted = RunFilter(**narrowed, sort=sort, limit=4)
        fitting = set(wanted_ids(wanted))
        runs = {f"{bytes(run.trace_id).hex()}-{bytes(run.root_span_id).hex()}": run for run in Run.objects.all()}
        height = {run_id: getattr(runs[run_id], column) for run_id in fitting}
        order = sorted(fitting, key=lambda run_id: (-1 if height[run_id] is None else height[run_id], run_id))
        assert walked(project, wanted) == order[::-1], name


def test_when_the_time_is_up_the_highest_are_those_of_what_was_looked_at(project: Project) -> None:
    page = find_runs(Scope(project_id=project.pk), RunFilter(sort="slowest"), NOW, budget_s=0)
    latest = max(run.end_unix_ns for run in Run.objects.all())
    assert page.runs == []
    assert page.looked_from_unix_ns is not None
    assert page.looked_from_unix_ns > latest

"""Empty weeks, a single run, a first week, clocks that change: each is told for what it is."""

from __future__ import annotations

import random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from dashboard.reports.core.values import Report, State
from dashboard.reports.core.weeks import Week
from dashboard.reports.forms.mail import as_html
from dashboard.reports.forms.pdf import as_pdf
from dashboard.reports.forms.table import as_csv
from dashboard.reports.forms.text import as_text
from dashboard.reports.making import make_report
from ingest.models import Project
from tests.integration.reports.planted import Plan, Traffic
from tests.integration.rollups.drawn_runs import drawn, keep

pytestmark = pytest.mark.django_db
LATE_NS = 2 * 10**18
HOUR_NS = 3600 * 10**9


def all_forms(report: Report) -> None:
    for body in (as_text(report), as_csv(report), as_html(report, "http://x/")):
        assert report.headline.text in body.replace("\n", " ")
    assert as_pdf(report).startswith(b"%PDF")


def test_an_empty_week_says_so(project: Project, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    report = make_report(project, Week(2026, 10), LATE_NS)

    assert (report.state, report.headline.text) == (State.EMPTY, "No runs ended in week 10.")
    assert (report.sentences, report.act, report.split) == ([], None, None)
    all_forms(report)
    assert b"Weeks that have runs" in Client().get("/reports/2026-W10").content
    assert b"No week with runs here" in Client().get("/reports").content


def test_a_single_run_is_told_and_compared_with_nothing(project: Project, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    begin, end = Week(2026, 10).range_ns(ZoneInfo(project.zone))
    keep(project, [drawn(random.Random(1), 1, end - HOUR_NS, service=None, agent=None)], by_end=False)
    report = make_report(project, Week(2026, 10), LATE_NS)

    assert report.state is State.FIRST
    assert report.headline.text.startswith("The first week with data: 1 run, p95 wall time ")
    assert [w.why for w in report.worth] == ["the slowest"]
    all_forms(report)
    assert b"(n 1)" in Client().get("/reports/2026-W10").content

    keep(project, [drawn(random.Random(2), 2, begin - HOUR_NS)])
    few = make_report(project, Week(2026, 10), LATE_NS)
    assert few.headline.text == "Too few runs to compare: 1 run, after 1 run the week before."
    all_forms(few)


def test_a_first_week_claims_nothing(project: Project) -> None:
    Traffic(project, seed=1, runs_a_week=100).write(Week(2026, 10), Plan(cause=None))
    report = make_report(project, Week(2026, 10), LATE_NS)

    assert (report.state, report.sentences) == (State.FIRST, [])
    assert not any(row.change.claimed for measure in report.measures for row in measure.rows)
    all_forms(report)
    after = make_report(project, Week(2026, 11), LATE_NS)
    assert after.state is State.EMPTY
    all_forms(after)


@pytest.mark.parametrize(("zone", "week"), [("Europe/Zurich", Week(2026, 13)), ("Europe/Zurich", Week(2026, 43)),
                                            ("Asia/Kathmandu", Week(2026, 53))])  # fmt: skip
def test_runs_at_the_ends_of_a_week_count_in_it_by_the_zones_clock(
    project: Project, settings: Any, zone: str, week: Week
) -> None:
    project.zone = zone
    project.save()
    begin, end = week.range_ns(ZoneInfo(zone))
    chance = random.Random(1)
    ends = [begin - 1, begin, begin + 3 * HOUR_NS, end - 1, end]
    keep(project, [drawn(chance, number, at) for number, at in enumerate(ends)])
    report = make_report(project, week, LATE_NS)

    assert (report.runs_before, report.runs_after) == (1, 3)
    assert sum(day.after_runs for day in report.days) == 3
    settings.SIXSTAGE_OPEN = True
    told = Client().get(f"/api/v1/reports/{week}").json()
    assert (told["from_unix_ns"], told["to_unix_ns"]) == (str(begin), str(end))


@pytest.mark.parametrize("name", ["2025-W53", "2026-W60", "nonsense", "2026-W1"])
def test_a_week_that_is_none_is_not_found(project: Project, settings: Any, name: str) -> None:
    settings.SIXSTAGE_OPEN = True
    for path in (f"/reports/{name}", f"/reports/{name}.csv", f"/reports/{name}.pdf", f"/api/v1/reports/{name}"):
        assert Client().get(path).status_code == 404

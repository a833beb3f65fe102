"""The report's figures are those of the API, and its split follows from them. Sentences: test_planted_causes."""

from __future__ import annotations

from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from dashboard import figures
from dashboard.reports.core.parts import Amount, split_change
from dashboard.reports.core.weeks import Week
from dashboard.reports.making import make_report
from ingest.models import Project
from tests.integration.reports.planted import Plan, Traffic
from tests.integration.reports.telling import Looked

pytestmark = pytest.mark.django_db
LATE_NS = 2 * 10**18


def test_the_split_follows_from_what_the_api_tells_of_services_and_their_models(
    project: Project, looked: Looked
) -> None:
    traffic = Traffic(project, seed=5, runs_a_week=600)
    traffic.write(Week(2026, 10), Plan(cause=None))
    traffic.write(Week(2026, 11), Plan(cause="x", service="support", changed={"model": "small-1"}, from_day=2))
    report = make_report(project, Week(2026, 11), LATE_NS)
    assert report.split is not None

    weeks = []
    for first, last in ((report.before_from_unix_ns, report.from_unix_ns), (report.from_unix_ns, report.to_unix_ns)):
        units = {}
        for service in ("support", "checkout", "research", "triage"):
            query = {"from": str(first), "to": str(last), "service": service, "group_by": "model", "of": "runs"}
            for group in looked.client.get("/api/v1/summary", query).json()["groups"]:
                runs = group["figures"]["runs"]
                units[service, (group["value"],)] = Amount(runs=runs["count"], totals_ns=runs["totals_ns"])
        weeks.append(units)
    again = split_change(weeks[0], weeks[1], list(report.split.before_by_owner_ns))

    assert again == report.split
    summary = looked.number(f"/api/v1/summary?from={report.from_unix_ns}&to={report.to_unix_ns}#total/runs")
    assert report.split.after_ns == summary["wall"]["sum_ns"] // summary["count"]
    assert report.split.ns() == report.split.moved_ns
    within = Fraction(report.split.by_cause_ns["models"], report.split.moved_ns)
    assert within > Fraction(1, 2)  # support went to a quicker model, and nothing else changed


def test_the_same_counts_give_the_same_digits(project: Project) -> None:
    Traffic(project, seed=6, runs_a_week=300).write(Week(2026, 10), Plan(cause=None))

    assert make_report(project, Week(2026, 10), LATE_NS) == make_report(project, Week(2026, 10), LATE_NS)


def test_figures_of_quantiles_and_rates_are_those_of_the_api(project: Project, looked: Looked) -> None:
    traffic = Traffic(project, seed=7, runs_a_week=400)
    for number in (9, 10, 11, 12, 13):
        traffic.write(Week(2026, number), Plan(cause=None))
    report = make_report(project, Week(2026, 13), LATE_NS)
    ranges = [
        Week(2026, number).range_ns(ZoneInfo(project.zone)) for number in (9, 10, 11, 12, 13)
    ]
    told = [looked.number(f"/api/v1/summary?from={first}&to={last}#total") for first, last in ranges]

    for measure in report.measures:
        kind, figure = measure.path.split("/")
        for row in measure.rows:
            values = [week[kind][figure][f"{row.share}_ns"] for week in told]
            assert (row.change.before, row.change.after) == (values[3], values[4])
            assert row.four_week_median_ns == round((sorted(values[:4])[1] + sorted(values[:4])[2]) / 2)
    for rate in report.rates:
        kind, figure = rate.path.split("/")
        assert rate.change.after == pytest.approx(told[4][kind][figure])
    assert sum(part for part in report.split.after_by_owner_ns.values()) == report.split.after_ns  # type: ignore[union-attr]
    assert figures.count(report.runs_after).value == str(told[4]["runs"]["count"])

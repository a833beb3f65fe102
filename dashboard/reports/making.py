"""A report of a week as the store tells it now."""

from __future__ import annotations

from dataclasses import replace

from dashboard.reports.compose import compose
from dashboard.reports.reading import read_told, read_worth
from dashboard.reports.values import Report
from dashboard.reports.weeks import Week
from ingest.models import Project


def make_report(project: Project, week: Week, now_ns: int) -> Report:
    """Raises BadFilter where the week's days are kept no more."""
    report = compose(read_told(project, week, now_ns))
    return replace(report, worth=read_worth(project, report, now_ns)) if report.runs_after else report

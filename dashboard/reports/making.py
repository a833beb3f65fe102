"""A report of a week as the store tells it now."""

from __future__ import annotations

from dataclasses import replace

from dashboard.reports.core.compose import compose
from dashboard.reports.core.values import Report
from dashboard.reports.core.weeks import Week
from dashboard.reports.engines import read_engine_weeks
from dashboard.reports.reading import read_told, read_worth
from dashboard.reports.service_levels import read_alerts, read_objectives
from ingest.models import Project
from ingest.scope import Scope


def make_report(project: Project, week: Week, now_ns: int, *, like: Report | None = None) -> Report:
    """With the engines' figures of a report that was made before, if one is given: they cannot change later, but for
    being kept no more. Raises BadFilter where the week's days are kept no more."""
    engines = read_engine_weeks(project, week, now_ns) if like is None else like.engines
    report, scope = compose(replace(read_told(project, week, now_ns), engines=engines)), Scope(project_id=project.pk)
    return replace(
        report, worth=read_worth(project, report, now_ns) if report.runs_after else [],
        alerts=read_alerts(scope, report.from_unix_ns, report.to_unix_ns, now_ns),
        slos=read_objectives(scope, report.from_unix_ns, report.to_unix_ns) if report.runs_after else [],
    )  # fmt: skip

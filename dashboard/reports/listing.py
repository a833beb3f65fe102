"""The weeks that a project has, newest first, with the figure that says most of each."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from dashboard.figures import Figure, count, duration
from dashboard.reports.core.facts import Weeks
from dashboard.reports.core.told import ALL
from dashboard.reports.core.weeks import Week, span_of_days, week_of
from dashboard.reports.forms.changes import Delta, delta
from dashboard.reports.models import KeptReport
from dashboard.reports.reading import read_totals
from dashboard.reports.storing import read_kept
from ingest.models import Project

WEEKS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekRow:
    """``said`` is the headline of a report that was sent."""

    week: Week
    days: str
    is_open: bool
    count: int
    p95_ns: int | None
    claimed: bool
    delta: Delta
    said: str

    @property
    def runs(self) -> Figure:
        return count(self.count)

    @property
    def p95(self) -> Figure:
        return duration(self.p95_ns)


def list_weeks(project: Project, now_ns: int, before: Week | None = None) -> list[WeekRow]:
    """Twelve weeks up to this one, or to the one before ``before``, without those before the first run."""
    newest = before.shifted(-1) if before else week_of(now_ns, ZoneInfo(project.zone))
    weeks = [newest.shifted(-n) for n in range(WEEKS, -1, -1)]
    totals = read_totals(project, weeks, now_ns)
    kept = {k.week: k for k in KeptReport.objects.filter(project=project, week__in=[str(week) for week in weeks])}
    rows = []
    for at in range(1, len(weeks)):
        week, facts = weeks[at], Weeks(totals[at - 1], totals[at]).facts(ALL)
        if facts.after.runs or str(week) in kept:
            rows.append(WeekRow(
                week=week, days=span_of_days(week), is_open=now_ns < week.range_ns(ZoneInfo(project.zone))[1],
                count=facts.after.runs, p95_ns=_whole(facts.p95.after), claimed=facts.p95.claimed,
                delta=delta(facts.p95),
                said=read_kept(kept[str(week)]).headline.text if str(week) in kept else "",
            ))  # fmt: skip
    return rows[::-1]


def _whole(ns: float | None) -> int | None:
    return None if ns is None else round(ns)

"""Engines' own figures of two weeks, from the store."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

from django.conf import settings

from dashboard.reports.core.engines import METRICS, EngineTold, EngineWeeks, compare_engines
from dashboard.reports.core.weeks import Week
from ingest.models import Project
from ingest.partitions import today
from ingest.read.engine_periods import read_periods
from ingest.scope import Scope


def read_engine_weeks(project: Project, week: Week, now_ns: int) -> EngineWeeks | None:
    """None where nothing is scraped, and nothing is sent of engines either."""
    zone, last = ZoneInfo(project.zone), week.shifted(-1)
    scope, note = Scope(project_id=project.pk), _note(week, last, now_ns)
    told, left_off = read_periods(scope, [last.day_bounds_ns(zone), week.day_bounds_ns(zone)], METRICS)
    if not told:
        return EngineWeeks(note=note) if note and project.engine_targets.exists() else None
    (before_from, before_to), (from_ns, to_ns) = last.range_ns(zone), week.range_ns(zone)
    rows = compare_engines(
        [EngineTold(id=t.id, name=t.name, before=t.whole[0], after=t.whole[1], days=t.days) for t in told],
        before_to - before_from, max(1, min(to_ns, now_ns) - from_ns),
    )  # fmt: skip
    return EngineWeeks(rows=rows, left_off=left_off, note=note)


def _note(week: Week, last: Week, now_ns: int) -> str:
    """Scrapes are kept as long as runs, and their partitions are of UTC days."""
    kept_from = today(now_ns) - dt.timedelta(days=settings.SIXSTAGE_RETENTION_DAYS)
    for one, which in ((week, "this week and the one before"), (last, "the week before")):
        if one.days[0] < kept_from:
            days = settings.SIXSTAGE_RETENTION_DAYS
            return f"Scrapes of engines are kept for {days} days: of {which} not all are there any more."
    return ""

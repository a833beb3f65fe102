"""Weekly reports: the weeks there are, and one of them whole."""

from __future__ import annotations

import time
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from ninja import Router, Status

from dashboard.access import Access
from dashboard.api.report_shapes import ReportWhole, WeekList, as_whole
from dashboard.api.shapes import Problem
from dashboard.reports.core.weeks import NoSuchWeek, last_whole_week, read_week
from dashboard.reports.listing import list_weeks
from dashboard.reports.storing import show_report
from ingest.read.runs import BadFilter

router = Router(tags=["reports"])


@router.get("", response={200: WeekList, 401: Problem, 404: Problem}, summary="Weeks that have runs, newest first")
def weeks(request: HttpRequest) -> Any:
    """Up to the running week, at most twelve."""
    access: Access = request.access  # type: ignore[attr-defined]
    return {
        "weeks": [
            {"week": str(row.week), "is_open": row.is_open, "runs": row.count, "p95_ns": row.p95_ns,
             "claimed": row.claimed, "headline": row.said}
            for row in list_weeks(access.project, time.time_ns())
        ]
    }  # fmt: skip


@router.get("/{iso_week}", response={200: ReportWhole, 401: Problem, 404: Problem}, summary="One week's report")
def report(request: HttpRequest, iso_week: str, anew: bool = False) -> Any:
    """As it was sent, if it was; `anew=1` tells it as the data is now. `last` is the last whole week. Each sentence
    names where this API tells its numbers."""
    access: Access = request.access  # type: ignore[attr-defined]
    now_ns = time.time_ns()
    try:
        week = last_whole_week(now_ns, ZoneInfo(access.project.zone)) if iso_week == "last" else read_week(iso_week)
        return Status(200, as_whole(show_report(access.project, week, now_ns, anew=anew)))
    except (NoSuchWeek, BadFilter) as error:
        return Status(404, {"detail": str(error)})

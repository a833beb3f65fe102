"""Reports: the weeks there are, one week as page, PDF or CSV, and when it is sent to whom."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.access import Access
from dashboard.models import Role
from dashboard.reports.forms.pictures import days_picture
from dashboard.reports.forms.sheet import Sheet, write_sheet
from dashboard.reports.forms.svg import as_svg
from dashboard.reports.forms.table import as_csv
from dashboard.reports.listing import list_weeks
from dashboard.reports.storing import Shown, show_report
from dashboard.reports.weeks import NoSuchWeek, Week, last_whole_week, read_week, week_of
from ingest.read.runs import BadFilter

NARROW = 350


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    now_ns = time.time_ns()
    context = {"page": "reports", "weeks": list_weeks(access.project, now_ns), **_schedule(access)}
    return render(request, "reports/page.html", context)


@never_cache
@require_safe
def week(request: HttpRequest, iso_week: str) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    chosen, now_ns = _week(access, iso_week), time.time_ns()
    shown = _shown(access, chosen, now_ns, anew="anew" in request.GET)
    sheet = write_sheet(shown.report)
    newest = week_of(now_ns, ZoneInfo(access.project.zone))
    context = {
        "page": "reports", "sheet": sheet, "report": shown.report, "shown": shown, "charts": _charts(sheet),
        "earlier": chosen.shifted(-1), "later": chosen.shifted(1) if chosen < newest else None, "week": chosen,
        "newest": newest,
    }  # fmt: skip
    return render(request, "reports/week.html", context)


@never_cache
@require_safe
def week_csv(request: HttpRequest, iso_week: str) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    shown = _shown(access, _week(access, iso_week), time.time_ns(), anew="anew" in request.GET)
    return _file(as_csv(shown.report).encode(), "text/csv; charset=utf-8", f"{access.project.slug}-{iso_week}.csv")


def _week(access: Access, name: str) -> Week:
    """``last`` is the last whole one, for links that stay."""
    if name == "last":
        return last_whole_week(time.time_ns(), ZoneInfo(access.project.zone))
    try:
        return read_week(name)
    except NoSuchWeek as error:
        raise Http404(str(error)) from error


def _shown(access: Access, chosen: Week, now_ns: int, *, anew: bool) -> Shown:
    try:
        return show_report(access.project, chosen, now_ns, anew=anew)
    except BadFilter as error:
        raise Http404(str(error)) from error


def _charts(sheet: Sheet) -> list[str]:
    """Twice, since text in a picture that shrinks shrinks with it."""
    wide, narrow = as_svg(days_picture(sheet), "only-wide"), as_svg(days_picture(sheet, NARROW), "only-narrow")
    return [mark_safe(wide), mark_safe(narrow)]  # noqa: S308 - drawn by us, with all texts escaped


def _file(body: bytes, content_type: str, name: str) -> HttpResponse:
    return HttpResponse(
        body, content_type=content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )  # fmt: skip

"""Reports: the weeks there are, one week as page, PDF or CSV, and when it is sent to whom."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.access import Access
from dashboard.figures import plural
from dashboard.models import Role
from dashboard.pages.parts.bar import segments_of
from dashboard.reports import schedules
from dashboard.reports.core.values import Report
from dashboard.reports.core.weeks import NoSuchWeek, Week, last_whole_week, read_week, week_of
from dashboard.reports.core.writing import DAY_NAMES
from dashboard.reports.forms.pictures import days_picture
from dashboard.reports.forms.sheet import MoverTable, Sheet, write_sheet
from dashboard.reports.forms.svg import as_svg
from dashboard.reports.forms.table import as_csv
from dashboard.reports.listing import list_weeks
from dashboard.reports.models import Schedule
from dashboard.reports.schedules import ScheduleRefused
from dashboard.reports.storing import Shown, show_report
from ingest.read.runs import BadFilter

NARROW = 350


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return _list(request)


def set_schedule(request: HttpRequest) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    back = HttpResponseRedirect(f"{reverse('reports')}?{urlencode({'project': access.project.slug})}#schedule")
    if request.method != "POST":  # an address out of the browser's history
        return back
    access.require(Role.ADMIN)
    given = request.POST
    try:
        schedules.set_schedule(
            access.project, enabled=given.get("enabled") == "yes", weekday=given.get("weekday", ""),
            hour=given.get("hour", ""), recipients=given.get("recipients", ""),
        )  # fmt: skip
    except ScheduleRefused as refused:
        return _list(request, status=422, problem=str(refused), recipients=given.get("recipients", ""))
    return back


def _list(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    before = _week(access, request.GET["before"]) if request.GET.get("before") else None
    weeks = list_weeks(access.project, time.time_ns(), before)
    context = {
        "page": "reports", "weeks": weeks, "oldest": weeks[-1].week if weeks else None, **_schedule(access), **said
    }  # fmt: skip
    return render(request, "reports/page.html", context, status=status)


def _schedule(access: Access) -> dict[str, Any]:
    """As it stands in the form; recipients are shown to administrators only."""
    kept = Schedule.objects.filter(project=access.project).first() or Schedule(project=access.project)
    when = f"{DAY_NAMES[kept.weekday]} at {kept.hour:02}:00, {access.project.zone}"
    to = plural(len(kept.recipients), "person", "people")
    return {
        "may_change": access.role.allows(Role.ADMIN), "recipients": ", ".join(kept.recipients), "weekday": kept.weekday,
        "hour": kept.hour, "enabled": kept.enabled, "weekdays": list(enumerate(DAY_NAMES)), "hours": range(24),
        "schedule_words": f"the week before, on {when}, to {to}" if kept.enabled else "not sent",
        "mail_is_set": bool(settings.EMAIL_HOST),
    }  # fmt: skip


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
        **_shift_bars(sheet), "tables": [_table(table, shown.report, access) for table in sheet.movers],
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


@never_cache
@require_safe
def week_pdf(request: HttpRequest, iso_week: str) -> HttpResponse:
    from dashboard.reports.forms.pdf import as_pdf  # 10 MB that a web process does without until somebody asks

    access: Access = request.access  # type: ignore[attr-defined]
    shown = _shown(access, _week(access, iso_week), time.time_ns(), anew="anew" in request.GET)
    return _file(as_pdf(shown.report), "application/pdf", f"{access.project.slug}-{iso_week}.pdf")


def _table(table: MoverTable, report: Report, access: Access) -> dict[str, Any]:
    """With bars, and links to the runs of the week."""
    lines = []
    rows = next(movers for movers in report.movers if movers.dimension == table.dimension).rows
    for line, row in zip(table.lines, rows, strict=True):
        linked = row.name is not None and table.dimension in ("service", "agent", "model", "tool")
        query = urlencode({
            "project": access.project.slug, table.dimension: row.name or "", "from": report.from_unix_ns,
            "to": report.to_unix_ns, "sort": "slowest",
        })  # fmt: skip
        lines.append({
            "name": line.name, "count": line.count, "before": line.before, "after": line.after, "delta": line.delta,
            "part": line.part, "reason": line.reason, "segments": segments_of(line.totals_ns, {}, {}),
            "link": f"{reverse('runs')}?{query}" if linked else "",
        })  # fmt: skip
    return {"heading": table.heading, "dimension": table.dimension, "of": table.of, "lines": lines,
            "left_off": table.left_off}  # fmt: skip


def _shift_bars(sheet: Sheet) -> dict[str, Any]:
    """Both weeks' bars on one scale, and where the lanes' zero lies."""
    if sheet.shift is None:
        return {}
    longest = max(sheet.shift.before_ns, sheet.shift.after_ns, 1)
    bars = [
        {"name": name, "total": total, "segments": segments_of(parts, {}, {}), "scale_ns": longest}
        for name, total, parts in sheet.shift.bars
    ]
    return {"bars": bars, "zero": f"{sheet.shift.zero * 100:.2f}"}


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
    return [mark_safe(wide), mark_safe(narrow)]


def _file(body: bytes, content_type: str, name: str) -> HttpResponse:
    return HttpResponse(
        body, content_type=content_type, headers={"Content-Disposition": f'attachment; filename="{name}"'}
    )  # fmt: skip

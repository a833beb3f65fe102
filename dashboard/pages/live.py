"""Live: what is happening now. The page, and the three fragments that it fetches again when runs change."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from dashboard.pages.parts import charts, kpis, window
from dashboard.pages.parts.start import exporter
from ingest.read import live as read
from ingest.read.runs import RunFilter, find_runs
from ingest.scope import Scope

HOUR_NS = 3600 * window.SECOND_NS
FINISHING, FLYING = 12, 12
POINTS = 400


def home(request: HttpRequest) -> HttpResponse:
    query = request.META.get("QUERY_STRING", "")
    return HttpResponseRedirect(reverse("live") + (f"?{query}" if query else ""))


def page(request: HttpRequest) -> HttpResponse:
    scope, now_ns = request.access.scope, time.time_ns()
    context = _figures(scope, now_ns) | _feeds(scope, now_ns)
    empty = context["newest_end_unix_ns"] is None and not context["flying"]
    context |= exporter() if empty else _charts(request, scope, now_ns)
    return render(request, "live/page.html", {"page": "live", "ranges": window.RANGES, "empty": empty, **context})


def figures(request: HttpRequest) -> HttpResponse:
    return render(request, "live/figures.html", _figures(request.access.scope, time.time_ns()))


def chart_data(request: HttpRequest) -> HttpResponse:
    return render(request, "live/chart_data.html", _charts(request, request.access.scope, time.time_ns()))


def feeds(request: HttpRequest) -> HttpResponse:
    return render(request, "live/feeds.html", _feeds(request.access.scope, time.time_ns()))


def _figures(scope: Scope, now_ns: int) -> dict[str, Any]:
    now, before = read.figures(scope, now_ns), read.figures(scope, now_ns - HOUR_NS)
    oldest = read.in_flight(scope, 1, now_ns) if now.in_flight else []
    oldest_ns = now_ns - oldest[0].start_unix_ns if oldest else None
    return {"kpis": kpis.kpis(now, before, oldest_ns), "newest_end_unix_ns": now.newest_end_unix_ns}


def _charts(request: HttpRequest, scope: Scope, now_ns: int) -> dict[str, Any]:
    shown, _ = window.read_window({"range": request.GET.get("range", window.USUAL.key)}, now_ns)
    chosen = shown.range or window.USUAL
    steps = read.stage_steps(scope, shown.from_unix_ns, now_ns, chosen.step_s)
    wanted = RunFilter(from_unix_ns=shown.from_unix_ns, limit=POINTS)
    runs = find_runs(scope, wanted, now_ns).runs
    return {
        "range": chosen,
        "stage_series": charts.stage_series(steps, chosen.step_s),
        "stage_rows": charts.stage_table(steps),
        "wall_points": charts.wall_points(runs, shown.from_unix_ns, now_ns),
        "wall_runs": runs[:50],
        "run_count": len(runs) if len(runs) < POINTS else sum(step.runs for step in steps),
        "point_count": len(runs),
        "stage_names": charts.LABELS.values(),
    }


def _feeds(scope: Scope, now_ns: int) -> dict[str, Any]:
    flying = read.in_flight(scope, FLYING, now_ns)
    return {
        "finishing": read.finishing(scope, FINISHING, now_ns),
        "flying": [(run, now_ns - run.start_unix_ns) for run in flying],
        "flying_limit": FLYING,
    }

"""Live: what is happening now. The page, and the three fragments that it fetches again when runs change."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from dashboard.coalescing import Coalesced, coalesced
from dashboard.pages.parts import charts, engine_tiles, kpis, window
from dashboard.pages.parts.start import exporter
from ingest.read import live as read
from ingest.read.deploys import Deploy, read_deploys
from ingest.read.engines import list_engines
from ingest.read.values import LiveFigures
from ingest.scope import Scope

MINUTE_NS, HOUR_NS = 60 * window.SECOND_NS, 3600 * window.SECOND_NS
FINISHING, FLYING = 12, 12
NOW_KEPT_S, CHARTS_KEPT_S = 1.0, 5.0  # how old the answer to another tab's question may be
DEPLOYS_KEPT_S = 30.0  # they are looked for in five weeks of day steps, and what they were does not change
BEFORE_KEPT_S = 60.0  # an hour ago is over, but for what comes late
LONGEST_NS = 2**63 - 1

_deploys: Coalesced[list[Deploy]] = Coalesced()
_before: Coalesced[LiveFigures] = Coalesced()


def home(request: HttpRequest) -> HttpResponse:
    query = request.META.get("QUERY_STRING", "")
    return HttpResponseRedirect(reverse("live") + (f"?{query}" if query else ""))


def page(request: HttpRequest) -> HttpResponse:
    scope, now_ns = request.access.scope, time.time_ns()  # type: ignore[attr-defined]
    shown, problems = window.read_window({"range": request.GET.get("range", "")}, now_ns)
    context = _now(scope, now_ns) | _feeds(scope, now_ns)
    empty = not context["finishing"] and not read.has_runs(scope)
    context |= exporter() if empty else _charts(scope, shown, now_ns)
    return render(
        request, "live/page.html",
        {"page": "live", "window": shown, "problems": problems, "empty": empty, "wall": request.GET.get("wall") == "1",
         **context},
    )  # fmt: skip


def now(request: HttpRequest) -> HttpResponse:
    """Key figures and engines."""
    scope = request.access.scope  # type: ignore[attr-defined]
    return _shared(
        request, "now", NOW_KEPT_S, lambda: render_to_string("live/now.html", _now(scope, time.time_ns()), request)
    )  # fmt: skip


def feeds(request: HttpRequest) -> HttpResponse:
    """Runs as they finish and those in flight, by themselves: they are quick, and a new run waits for nothing else."""
    scope = request.access.scope  # type: ignore[attr-defined]

    def work_out() -> str:
        return render_to_string("live/feeds_alone.html", _feeds(scope, time.time_ns()), request)

    return _shared(request, "feeds", NOW_KEPT_S, work_out)


def chart_data(request: HttpRequest) -> HttpResponse:
    scope = request.access.scope  # type: ignore[attr-defined]

    def work_out() -> str:
        now_ns = time.time_ns()
        shown, _ = window.read_window({"range": request.GET.get("range", "")}, now_ns)
        return render_to_string("live/chart_data.html", _charts(scope, shown, now_ns), request)

    return _shared(request, "charts", CHARTS_KEPT_S, work_out)


def older(request: HttpRequest) -> HttpResponse:
    """Runs that finished before those that the feed shows."""
    told = request.GET.get("before", "")
    before_ns = int(told) if told.isdecimal() and len(told) < 20 else LONGEST_NS
    now_ns = time.time_ns()
    scope = request.access.scope  # type: ignore[attr-defined]
    runs = read.finishing(scope, FINISHING, now_ns, min(before_ns, LONGEST_NS))
    return render(request, "live/finishing.html", {"finishing": runs, "feed_most": FINISHING})


def _shared(request: HttpRequest, name: str, kept_s: float, work_out: Callable[[], str]) -> HttpResponse:
    """What another tab was told a moment ago, if nothing has changed since: ``age`` is how many milliseconds ago this
    one heard of its newest change."""
    told = request.GET.get("age", "")
    age_s = int(told) / 1000 if told.isdecimal() and len(told) < 10 else 0.0
    places = tuple(request.GET.get(key, "") for key in ("range", "zone", "project"))
    question = (name, request.access.scope, *places)  # type: ignore[attr-defined]
    return HttpResponse(coalesced.answer(question, min(kept_s, age_s), lambda: work_out().encode()))


def _now(scope: Scope, now_ns: int) -> dict[str, Any]:
    from_ns, to_ns = read.last_minutes(now_ns)
    before = _before.answer(
        (scope, from_ns), BEFORE_KEPT_S,
        lambda: read.figures(scope, from_ns - HOUR_NS, to_ns - HOUR_NS - MINUTE_NS, now_ns),
    )  # fmt: skip
    now = read.figures(scope, from_ns, to_ns, now_ns)
    return {
        "kpis": kpis.kpis(now, before, *read.count_in_flight(scope, now_ns)),
        "engines": [engine_tiles.shown(row) for row in list_engines(scope, now_ns, engine_tiles.IN_LIST)],
    }


def _feeds(scope: Scope, now_ns: int) -> dict[str, Any]:
    return {
        "finishing": read.finishing(scope, FINISHING, now_ns), "feed_most": FINISHING,
        "flying": [(run, now_ns - run.start_unix_ns) for run in read.in_flight(scope, FLYING, now_ns)],
        "flying_limit": FLYING,
    }  # fmt: skip


def _charts(scope: Scope, shown: window.Window, now_ns: int) -> dict[str, Any]:
    chosen = shown.range or window.USUAL
    step_s, steps = read.stage_steps(scope, shown.from_unix_ns, now_ns, chosen.step_s)
    deploys = _deploys.answer(
        (scope, chosen.key), DEPLOYS_KEPT_S, lambda: read_deploys(scope, shown.from_unix_ns, now_ns)
    )
    step_words = window.step_words(step_s)
    return {
        "range": chosen, "step_words": step_words,
        "stage_series": charts.stage_series(steps, step_s) | {"step_words": step_words, "marks": charts.marks(deploys)},
        "stage_rows": charts.stage_table(steps),
        "heat": charts.heat_map(steps, step_s),
        "heat_rows": [step for step in reversed(steps) if step.runs],
        "sparks": charts.spark_lines(steps, step_s),
        "stage_names": charts.LABELS.values(),
    }

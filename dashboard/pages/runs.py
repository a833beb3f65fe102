"""Runs: which runs are these? Everything that the list shows is in its URL."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from dashboard.pages.parts import query
from dashboard.pages.parts.start import exporter
from dashboard.pages.parts.window import RANGES, Window, range_that_holds, read_window
from ingest.read.runs import BadFilter, RunFilter, count_runs, facets, find_runs
from ingest.read.values import RunPage
from ingest.scope import Scope


def page(request: HttpRequest) -> HttpResponse:
    scope, now_ns = request.access.scope, time.time_ns()
    window, problems = read_window(request.GET, now_ns)
    wanted, more = query.read_filter(request.GET, window)
    found, bad_cursor = _found(scope, wanted, now_ns)
    links = query.Links(reverse("runs"), request.GET)
    context: dict[str, Any] = {
        "page": "runs",
        "window": window,
        "wanted": wanted,
        "found": found,
        "ranges": _range_links(links, window),
        "problems": problems + more + bad_cursor,
        "tokens": query.tokens(wanted, links),
        "links": _links(links, found),
        "kept": {k: v for k, v in links.kept.items() if k not in ("q", "min_wall")},
        "by_time": request.GET.get("bars") == "time",
        "matching": count_runs(scope, wanted, now_ns),
        "all": count_runs(scope, _unfiltered(window), now_ns),
        "facets": query.choices(facets(scope, wanted, now_ns), wanted, links),
        "walls": query.wall_choices(wanted, links),
        "currency": next((run.currency for run in found.runs), None),
        "longest_ns": max((run.wall_ns for run in found.runs), default=0),
        "min_wall": request.GET.get("min_wall", ""),
    }
    if not found.runs:
        context |= _nothing(scope, now_ns, links)
    return render(request, "runs/page.html", context)


def _found(scope: Scope, wanted: RunFilter, now_ns: int) -> tuple[RunPage, list[str]]:
    try:
        return find_runs(scope, wanted, now_ns), []
    except BadFilter as error:
        return RunPage(runs=[], next_cursor=None), [f"{error}."]


def _unfiltered(window: Window) -> RunFilter:
    return RunFilter(from_unix_ns=window.from_unix_ns, to_unix_ns=window.to_unix_ns)


def _range_links(links: query.Links, window: Window) -> list[tuple[str, str, bool]]:
    return [(r.label, links.change(range=r.key, **{"from": None, "to": None}), r is window.range) for r in RANGES]


def _links(links: query.Links, found: RunPage) -> dict[str, str]:
    sorts = {f"sort_{sort}": links.change(sort=None if sort == "newest" else sort) for sort in query.ORDERS}
    return sorts | {
        "share": links.change(bars=None),
        "time": links.change(bars="time"),
        "first": links.change(),
        "next": links.change(cursor=found.next_cursor) if found.next_cursor else "",
        "no_range": links.change(range=None, **{"from": None, "to": None}),
        "no_filter": links.change(**dict.fromkeys((*query.EQUAL, "min_wall", "q"))),
    }


def _nothing(scope: Scope, now_ns: int, links: query.Links) -> dict[str, Any]:
    """What to say, and to offer, where no run is found."""
    newest = next(iter(find_runs(scope, RunFilter(limit=1), now_ns).runs), None)
    if newest is None:
        return exporter()
    holding = range_that_holds(newest.end_unix_ns, now_ns)
    wider = {"range": holding.key, "from": None} if holding else {"range": None, "from": str(newest.end_unix_ns)}
    return {"newest": newest, "wider": links.change(**wider, to=None)}

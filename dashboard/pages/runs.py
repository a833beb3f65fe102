"""Runs: which runs are these? Everything that the list shows is in its URL."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.pages.parts import query, timeline
from dashboard.pages.parts.bar import LABELS
from dashboard.pages.parts.columns import COLUMNS, Column, cells, chosen_columns
from dashboard.pages.parts.start import exporter
from dashboard.pages.parts.window import Window, range_that_holds, read_window, step_for
from dashboard.runs_export import exported
from dashboard.saved_views import ViewRefused, list_views, remove_view, save_view
from ingest.prices import read_pricing
from ingest.read.completing import complete
from ingest.read.deploys import read_deploys
from ingest.read.facets import read_facets
from ingest.read.runs import BadFilter, RunFilter, find_runs
from ingest.read.timeline import Timeline, count_runs, read_timeline
from ingest.read.values import Facets, RunPage
from ingest.scope import Scope

TIMELINE_S = 1.5
EXPORTS = (
    ("csv", "CSV, a line a run"),
    ("json", "JSON, as the API tells runs"),
    ("otlp", "OTLP, the spans as they came"),
)


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    access = request.access  # type: ignore[attr-defined]
    scope, now_ns = access.scope, time.time_ns()
    window, problems = read_window(request.GET, now_ns)
    asked = query.read_filter(request.GET, window)
    links = query.Links(reverse("runs"), request.GET)
    columns, bad_columns = chosen_columns(links.kept.get("columns", ""), priced=bool(read_pricing(scope)))
    found, told, facets, bad_filter = _found(scope, asked, now_ns)
    matching = told.runs
    context: dict[str, Any] = {
        "page": "runs", "window": window, "wanted": asked.wanted, "query": asked, "found": found,
        "problems": problems + asked.problems + bad_columns + bad_filter,
        "tokens": query.tokens(asked.query, links), "links": _links(links, found),
        "kept": {k: v for k, v in links.kept.items() if k != "q"},
        "kept_but_columns": {k: v for k, v in links.kept.items() if k != "columns"},
        "by_time": request.GET.get("bars") == "time", "matching": max(matching, len(found.runs)), "timeline": told,
        "all": count_runs(scope, _unfiltered(window), now_ns) if asked.query else matching,
        "drawn": timeline.draw(told), "marks": _marks(scope, told), "timeline_rows": timeline.table(told),
        "stage_names": LABELS.values(),
        "exports": EXPORTS, "facets": query.choices(facets.facets, asked.query, links), "facets_told": facets,
        "walls": query.wall_choices(asked.query, links), "heads": _heads(columns, asked.wanted.sort, links),
        "rows": [(run, cells(run, columns)) for run in found.runs], "chosen": {column.key for column in columns},
        "columns": COLUMNS.values(), "longest_ns": max((run.wall_ns for run in found.runs), default=0),
        "currency": next((run.currency for run in found.runs), None), "views": list_views(access, request.user),
        "here": links.change().partition("?")[2], "order": _order(asked.wanted.sort),
    }  # fmt: skip
    if not found.runs:
        context |= _nothing(scope, now_ns, links)
    return render(request, "runs/page.html", context)


@require_safe
def completion(request: HttpRequest) -> HttpResponse:
    """What may stand at the cursor of the query line, as its script asks for."""
    now_ns = time.time_ns()
    window, _ = read_window(request.GET, now_ns)
    text = request.GET.get("text", "").replace("\0", "")
    at = request.GET.get("at", "")
    wanted = RunFilter(from_unix_ns=window.from_unix_ns, to_unix_ns=window.to_unix_ns)
    scope = request.access.scope  # type: ignore[attr-defined]
    cursor = int(at) if at.isdecimal() and len(at) < 6 else len(text)
    return JsonResponse(asdict(complete(scope, wanted, text, cursor, now_ns)))


@require_safe
def export(request: HttpRequest) -> HttpResponseBase:
    """All runs of the list, whichever page of it is shown, as a file."""
    now_ns = time.time_ns()
    window, _ = read_window(request.GET, now_ns)
    asked = query.read_filter(request.GET, window)
    form = request.GET.get("form", "csv")
    if form not in dict(EXPORTS) or asked.refused:
        raise Http404
    scope = request.access.scope  # type: ignore[attr-defined]
    return exported(form, scope, replace(asked.wanted, cursor=None), now_ns)


def save(request: HttpRequest) -> HttpResponse:
    address = request.POST.get("address", "")
    if request.method == "POST":
        try:
            save_view(
                request.access, request.user, request.POST.get("name", ""), address,  # type: ignore[attr-defined]
                shared=request.POST.get("shared") == "yes",
            )  # fmt: skip
        except ViewRefused as refused:
            return render(request, "refused.html", {"message": str(refused)}, status=422)
    return HttpResponseRedirect(f"{reverse('runs')}?{address}")


def remove(request: HttpRequest) -> HttpResponse:
    told = request.POST.get("view", "")
    view_id = int(told) if told.isdecimal() and len(told) < 19 else 0
    if request.method == "POST" and not remove_view(request.access, request.user, view_id):  # type: ignore[attr-defined]
        raise Http404
    return HttpResponseRedirect(f"{reverse('runs')}?{request.POST.get('back', '')}")


def _found(scope: Scope, asked: query.Asked, now_ns: int) -> tuple[RunPage, Timeline, Facets, list[str]]:
    nothing = (
        RunPage(runs=[], next_cursor=None), Timeline(steps=[], runs=0, looked_from_unix_ns=None),
        Facets(facets=[], looked_from_unix_ns=None),
    )  # fmt: skip
    if asked.refused:
        return *nothing, []
    try:
        found = find_runs(scope, asked.wanted, now_ns)
        facets = read_facets(scope, asked.wanted, now_ns)
        told = read_timeline(scope, _of_list(asked.wanted), step_for, now_ns, TIMELINE_S)
    except BadFilter as error:
        return *nothing, [f"{error}."]
    return found, told, facets, []


def _marks(scope: Scope, told: Timeline) -> list[tuple[str, str]]:
    if not told.steps:
        return []
    return timeline.marks(told, read_deploys(scope, told.steps[0].from_unix_ns, told.steps[-1].to_unix_ns))


def _of_list(wanted: RunFilter) -> RunFilter:
    """The whole list, whichever page of it is shown."""
    return replace(wanted, cursor=None, sort="newest")


def _unfiltered(window: Window) -> RunFilter:
    return RunFilter(from_unix_ns=window.from_unix_ns, to_unix_ns=window.to_unix_ns)


def _heads(columns: list[Column], sort: str, links: query.Links) -> list[dict[str, Any]]:
    """The heads of columns. One that orders the list turns the order round when it is chosen again."""
    heads = []
    for column in columns:
        down, up = sort == column.sort, sort == column.sort_up
        turned = column.sort_up if down else column.sort
        link = links.change(sort=None if turned == "newest" else turned) if column.sort else ""
        order = ("descending" if down else "ascending") if column.sort and (down or up) else ""
        heads.append({"column": column, "link": link, "order": order})
    return heads


def _order(sort: str) -> str:
    """In words, what stands first."""
    named = {"newest": "newest first", "oldest": "oldest first", "slowest": "slowest first", "fastest": "fastest first"}
    if sort in named:
        return named[sort]
    label = next((c.label for c in COLUMNS.values() if sort in (c.sort, c.sort_up)), sort)
    return f"{'least' if sort.endswith('.up') else 'most'} {label} first"


def _links(links: query.Links, found: RunPage) -> dict[str, str]:
    return {
        "share": links.change(bars=None),
        "time": links.change(bars="time"),
        "first": links.change(),
        "next": links.change(cursor=found.next_cursor) if found.next_cursor else "",
        "no_filter": links.change(q=None),
        "usual_columns": links.change(columns=None),
        "no_range": _open(links.change(range=None, **{"from": None, "to": None})),
    }


def _open(address: str) -> str:
    """To which a parameter can be added."""
    return address + ("&" if "?" in address else "?")


def _nothing(scope: Scope, now_ns: int, links: query.Links) -> dict[str, Any]:
    """What to say, and to offer, where no run is found."""
    newest = next(iter(find_runs(scope, RunFilter(limit=1), now_ns).runs), None)
    if newest is None:
        return exporter()
    holding = range_that_holds(newest.end_unix_ns, now_ns)
    wider = {"range": holding.key, "from": None} if holding else {"range": None, "from": str(newest.end_unix_ns)}
    return {"newest": newest, "wider": links.change(**wider, to=None)}

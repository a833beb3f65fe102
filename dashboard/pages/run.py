"""One run: why was it slow? The page, its parts as they change, and the fragments of its side panel."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Iterator
from functools import partial, reduce
from typing import Any

import msgspec
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import mark_safe

from dashboard.figures import costs_together
from dashboard.pages.parts import engine_rows, rounds, run_head, span_panel
from dashboard.pages.parts.waterfall import waterfall
from dashboard.verdicts import judge
from ingest.read.engine_state import join_engines
from ingest.read.run import current_run_id, run_about, run_detail, run_row
from ingest.read.span_times import root_span_ids, span_times
from ingest.read.traces import span_detail
from ingest.read.values import RunDetail
from ingest.scope import Scope

STREAMED_SPANS = 1_000  # from here on the page's frame is sent before the run is read
ROUNDS_AT_ONCE, FIRST_ROUNDS = 30, 12  # of more than so many the first, as many as are in sight: each is 35 elements
_HERE = "<!-- main -->"
_log = logging.getLogger("django.request")
# So that JSON can stand in an element of the page, as Django's json_script has it; replaced in bytes, which takes a
# thirtieth of what translating the text takes.
_ESCAPED = ((b"<", b"\\u003C"), (b">", b"\\u003E"), (b"&", b"\\u0026"))


def page(request: HttpRequest, run_id: str) -> HttpResponseBase:
    run = run_row(request.access.scope, run_id, time.time_ns())
    if run is None:
        return _moved(request, run_id)
    frame = partial(render_to_string, "run/page.html", request=request)
    told = {"run": run, "page": "runs", "page_is_run": True}
    if run.spans < STREAMED_SPANS or not isinstance(request, ASGIRequest):
        return HttpResponse(frame(told | {"main": mark_safe("".join(_pieces(request, run_id)))}))
    before, _, after = frame(told | {"main": mark_safe(_HERE)}).partition(_HERE)
    return StreamingHttpResponse(_in_pieces(request, run_id, before, after))


async def _in_pieces(request: HttpRequest, run_id: str, before: str, after: str) -> AsyncIterator[str]:
    """The page's frame at once, so that the browser fetches styles and modules while the rest is worked out."""
    yield before
    pieces = _pieces(request, run_id)
    try:
        while piece := await sync_to_async(next)(pieces, ""):
            yield piece
    except Exception:  # the status has been sent, so it can only be said in the page
        _log.exception("the page of run %s was not finished", run_id)
        yield render_to_string("run/not_made.html", request=request)
    yield after


def _pieces(request: HttpRequest, run_id: str) -> Iterator[str]:
    """What stands within the page's frame: what people read, then the rows of the waterfall, for its script."""
    scope = request.access.scope
    run = run_detail(scope, run_id, time.time_ns())
    if run is None:
        yield render_to_string("run/not_made.html", request=request)
        return
    join_engines(scope, run)
    context = _parts(run, all_rounds=request.GET.get("rounds") == "all")
    context |= {"page_is_run": True, "chosen": run_head.costliest(run), "figures": run_head.figures(run)}
    yield render_to_string("run/main.html", context, request)
    told = reduce(_without, _ESCAPED, _waterfall(scope, run)).decode()
    yield f'<script type="application/json" id="waterfall-data">{told}</script>'


def parts(request: HttpRequest, run_id: str) -> HttpResponse:
    """What of the page changes when the run does, but for the waterfall's rows."""
    scope = request.access.scope
    run = run_detail(scope, run_id, time.time_ns())
    if run is None:
        return _moved(request, run_id, "run-parts")
    join_engines(scope, run)
    context = _parts(run) | {"figures": run_head.figures(run), "is_update": True}
    return render(request, "run/parts.html", context)


def rows(request: HttpRequest, run_id: str) -> HttpResponse:
    """The waterfall's rows as JSON."""
    scope = request.access.scope
    run = run_detail(scope, run_id, time.time_ns())
    if run is None:
        return _moved(request, run_id, "run-rows")
    return HttpResponse(_waterfall(scope, run), content_type="application/json")


def span(request: HttpRequest, run_id: str, span_id: str) -> HttpResponse:
    """The side panel of one span; with ``?value=key`` one of its attributes, whole, or from a place on (``&from=``)."""
    scope = request.access.scope
    stored = span_detail(scope, run_id.partition("-")[0], span_id)
    if key := request.GET.get("value"):
        return _whole_value(stored, key, request.GET.get("from", ""))
    about = run_about(scope, run_id, span_id, time.time_ns())
    panel = about and span_panel.panel(about[0], span_id, stored, about[1])
    if not about or not panel:
        return render(request, "run/span_missing.html", {"span_id": span_id}, status=404)
    run, _ = about
    return render(request, "run/span.html", {"run": run, "panel": panel, **_engine(scope, run, span_id)})


def _parts(run: RunDetail, *, all_rounds: bool = False) -> dict[str, Any]:
    asked = rounds.tools_of(run)
    shown = rounds.rounds(run, asked, FIRST_ROUNDS if len(run.calls) > ROUNDS_AT_ONCE and not all_rounds else None)
    return {
        "run": run,
        "verdict": judge(run, asked),
        "split": run_head.split(run),
        "facts": run_head.facts(run),
        "rounds": shown,
        "more_rounds": max(0, len(run.calls) - len(shown)),
        "longest_ns": max((r.wall_ns for r in shown), default=0),
        "round_sums": rounds.sums(run),
        "engine_rows": engine_rows.rows(run),
        "cost": costs_together([call.cost for call in run.calls], run.cost)[-1],
    }


def _waterfall(scope: Scope, run: RunDetail) -> bytes:
    spans = span_times(scope, run.trace_id)
    return msgspec.json.encode(waterfall(run, spans, root_span_ids(scope, run.trace_id)))


def _without(told: bytes, pair: tuple[bytes, bytes]) -> bytes:
    return told.replace(*pair)


def _engine(scope: Scope, run: RunDetail, span_id: str) -> dict[str, Any]:
    """What the call's engine was doing, where the span is a call whose engine is known."""
    join_engines(scope, run)
    call = next((call for call in run.calls if call.span_id == span_id), None)
    if call is None or call.engine_state is None:
        return {}
    return {
        "engine_state": call.engine_state, "engine_pairs": engine_rows.pairs(call),
        "engine_strips": engine_rows.strips(call),
        "engine_words": engine_rows.words(call.engine_state.state, call),
    }  # fmt: skip


def _whole_value(stored: Any, key: str, start: str) -> HttpResponse:
    text = span_panel.whole_value(stored, key)
    if text is None:
        text = "This value is not stored any more."
    if start.isdecimal():
        text = text[int(start) : int(start) + span_panel.PIECE]
    return HttpResponse(text, content_type="text/plain; charset=utf-8")


def _moved(request: HttpRequest, run_id: str, view: str = "run") -> HttpResponse:
    """A run whose root was replaced by a late parent lives on under another id; others are not here."""
    current = current_run_id(request.access.scope, run_id)
    if current is not None and current != run_id:
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(reverse(view, args=[current]) + (f"?{query}" if query else ""))
    context = {"page": "runs", "run_id": run_id, "retention_days": settings.SIXSTAGE_RETENTION_DAYS}
    return render(request, "run/missing.html", context, status=404)

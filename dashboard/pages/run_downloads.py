"""A run to take away: its trace as OTLP JSON, its head as a picture."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

from asgiref.sync import sync_to_async
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render

from dashboard.pages.parts import run_picture
from dashboard.verdicts import judge
from ingest.read.engine_state import join_engines
from ingest.read.otlp_json import otlp_json as written
from ingest.read.run import current_run_id, run_detail


def otlp_json(request: HttpRequest, run_id: str) -> HttpResponseBase:
    """The whole trace of the run, as any OTLP/HTTP receiver takes it."""
    scope = request.access.scope
    if current_run_id(scope, run_id) is None:
        raise Http404("no such run")
    trace_id, _, _ = run_id.partition("-")
    response = StreamingHttpResponse(_one_by_one(written(scope, [trace_id])), content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{run_id}.otlp.json"'
    return response


async def _one_by_one(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Each is written when the one before it has been sent. In the thread of the views, since it may read the store."""
    write = sync_to_async(next)
    while (piece := await write(pieces, None)) is not None:
        yield piece


def picture(request: HttpRequest, run_id: str) -> HttpResponse:
    """The run's head as an SVG in the light theme, for a ticket or a slide."""
    run = run_detail(request.access.scope, run_id, time.time_ns())
    if run is None:
        raise Http404("no such run")
    join_engines(request.access.scope, run)
    response = render(request, "run/picture.svg", run_picture.picture(run, judge(run)), content_type="image/svg+xml")
    response["Content-Disposition"] = f'attachment; filename="{run_id}.svg"'
    return response

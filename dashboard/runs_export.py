"""A list of runs as a file: CSV, JSON as the API tells runs, or the spans they were made of as OTLP/JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from django.http import HttpResponse

from dashboard.api.shapes import RunSummary
from dashboard.api.tables import runs_table
from ingest.read.otlp_json import otlp_json
from ingest.read.runs import LIMIT_MOST, RunFilter, find_runs
from ingest.read.values import RunRow
from ingest.scope import Scope

RUNS_MOST = {"csv": 5_000, "json": 5_000, "otlp": 200}
BUDGET_S = 10.0


def exported(form: str, scope: Scope, wanted: RunFilter, now_ns: int) -> HttpResponse:
    """The first runs of the list, in its order; ``X-Left-Off`` is set where there are more. Raises BadFilter."""
    runs, more = _runs(scope, wanted, RUNS_MOST[form], now_ns)
    if form == "csv":
        response = runs_table(runs)
    elif form == "json":
        told = {"runs": [RunSummary.from_orm(run).model_dump() for run in runs], "more": more}
        response = _file(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(), "runs.json")
    else:
        traces = dict.fromkeys(run.trace_id for run in runs)
        response = _file(b"".join(otlp_json(scope, traces)), "runs.otlp.json")
    if more:
        response["X-Left-Off"] = f"more than {RUNS_MOST[form]} runs: narrow the list, or page through the API"
    return response


def _runs(scope: Scope, wanted: RunFilter, most: int, now_ns: int) -> tuple[list[RunRow], bool]:
    found: list[RunRow] = []
    for page in _pages(scope, replace(wanted, limit=min(LIMIT_MOST, most)), now_ns):
        found += page
        if len(found) >= most:
            return found[:most], True
    return found, False


def _pages(scope: Scope, wanted: RunFilter, now_ns: int) -> Iterator[list[RunRow]]:
    cursor: str | None = None
    while True:
        page = find_runs(scope, replace(wanted, cursor=cursor), now_ns, BUDGET_S)
        yield page.runs
        cursor = page.next_cursor
        if cursor is None:
            return


def _file(text: bytes, name: str) -> HttpResponse:
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response

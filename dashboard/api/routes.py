"""The API's routes."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from ninja import NinjaAPI, Query, Schema, Status
from pydantic import Field

from dashboard.access import Access, AccessRefused, refusal
from dashboard.api.alerts import REFUSED as ALERTS_REFUSED
from dashboard.api.alerts import router as alerts
from dashboard.api.alerts import silences
from dashboard.api.deploys import router as deploys
from dashboard.api.engines import router as engines
from dashboard.api.reports import router as reports
from dashboard.api.shapes import OwnPrices, Prices, Problem, RunList, RunWhole, Summary, TraceWhole
from dashboard.api.tables import runs_table, summary_table
from dashboard.api.views import completion
from dashboard.api.views import views as saved_views
from dashboard.models import Role
from dashboard.saved_views import ViewRefused
from ingest.price_list import PricesRefused, parse, written
from ingest.prices import read_tables, write_table
from ingest.read.engine_state import join_engines
from ingest.read.run import current_run_id, run_detail
from ingest.read.runs import LIMIT_MOST, ORDERS, BadFilter, RunFilter, find_runs
from ingest.read.summary import GROUPS, STEPS, Question, read_kinds, summarise
from ingest.read.traces import trace_detail

api = NinjaAPI(
    title="Sixstage",
    version="1",
    description="Where the seconds of an agent run went, exact to the nanosecond. "
    "Send a read token as `Authorization: Bearer sxr_…`; an open local instance needs none.",
    urls_namespace="api",
)
api.add_router("/engines", engines)
api.add_router("/deploys", deploys)
api.add_router("/alerts", alerts)
api.add_router("/silences", silences)
api.add_router("/reports", reports)
api.add_router("/views", saved_views)
api.add_router("/completion", completion)

BIGINT = {"ge": -(2**63), "le": 2**63 - 1}


class Filters(Schema):
    """What narrows runs. They count in the window in which they end."""

    from_: int | None = Field(None, alias="from", description="Unix nanoseconds, inclusive", **BIGINT)
    to: int | None = Field(None, description="Unix nanoseconds, exclusive", **BIGINT)
    service: str | None = None
    version: str | None = None
    environment: str | None = None
    agent: str | None = None
    model: str | None = None
    tool: str | None = None
    session: str | None = None
    user: str | None = None
    status: str | None = Field(None, description="ok, error or open")
    min_wall_ns: int | None = Field(None, **BIGINT)
    q: str | None = Field(None, description="a query (docs/query.md)", examples=["service:checkout wall>5s"])

    def as_filter(self) -> RunFilter:
        same = {f.name: getattr(self, f.name) for f in fields(RunFilter) if hasattr(self, f.name)}
        return RunFilter(from_unix_ns=self.from_, to_unix_ns=self.to, **_without_nul(same))


class RunQuery(Filters):
    """The filters of the runs page, an order, and a place in it."""

    sort: str = Field("newest", description=", ".join(ORDERS))
    cursor: str | None = None
    limit: int = Field(50, ge=1, le=LIMIT_MOST)


class SummaryQuery(Filters):
    """Calls and tools count in the window in which they end too; ``model`` and ``tool`` narrow them by their own."""

    step: str | None = Field(None, description=f"{', '.join(STEPS)}, or seconds, of whole minutes; none for one figure")
    zone: str | None = Field(None, description="whose days and hours steps are, as Europe/Berlin; else the project's")
    group_by: str | None = Field(None, description=", ".join(GROUPS))
    of: str | None = Field(None, description="runs, calls, tools, or some of them with commas; else all")

    def as_question(self) -> Question:
        told = _without_nul(self.dict(include={"step", "zone", "group_by"}))
        return Question(wanted=self.as_filter(), kinds=read_kinds(self.of), **told)


def _without_nul(values: dict[str, Any]) -> dict[str, Any]:
    """NUL is in no stored text (see ``ingest.rows.plain``), and PostgreSQL takes none in a question either."""
    return {key: value.replace("\x00", "\ufffd") if isinstance(value, str) else value for key, value in values.items()}


def refused(request: HttpRequest, error: Exception) -> HttpResponse:
    """422 in words; where a query cannot be read, ``at`` says from which character on."""
    at = getattr(error, "at", None)
    return api.create_response(request, {"detail": str(error)} | ({} if at is None else {"at": at}), status=422)


for _kind in (BadFilter, PricesRefused, ViewRefused, *ALERTS_REFUSED):
    api.add_exception_handler(_kind, refused)


@api.exception_handler(AccessRefused)
def access_refused(request: HttpRequest, error: AccessRefused) -> HttpResponseBase:
    return refusal(request, error)


@api.get("/runs", response={200: RunList, 401: Problem, 404: Problem, 422: Problem}, summary="Runs, newest first")
def runs(request: HttpRequest, query: Query[RunQuery]) -> Any:
    return find_runs(request.access.scope, query.as_filter(), time.time_ns())  # type: ignore[attr-defined]


@api.get("/runs.csv", response={401: Problem, 404: Problem, 422: Problem}, summary="Runs as CSV")
def runs_csv(request: HttpRequest, query: Query[RunQuery]) -> HttpResponse:
    """The same runs as `/runs` gives, and the cursor of those after them in the header `X-Next-Cursor`."""
    found = find_runs(request.access.scope, query.as_filter(), time.time_ns())  # type: ignore[attr-defined]
    response = runs_table(found.runs)
    if found.next_cursor:
        response["X-Next-Cursor"] = found.next_cursor
    return response


@api.get(
    "/runs/{run_id}",
    response={200: RunWhole, 302: None, 401: Problem, 404: Problem},
    summary="One run, whole",
)
def run(request: HttpRequest, run_id: str) -> Any:
    """The run with its calls, tools, warnings and phases. An id whose root was replaced by a late parent
    redirects to the run that took over."""
    scope = request.access.scope  # type: ignore[attr-defined]
    found = run_detail(scope, run_id, time.time_ns())
    if found is not None:
        join_engines(scope, found)
        return Status(200, found)
    now_id = current_run_id(scope, run_id)
    if now_id is not None and now_id != run_id:
        query = f"?{request.META['QUERY_STRING']}" if request.META["QUERY_STRING"] else ""
        return HttpResponseRedirect(reverse("api:run", args=[now_id]) + query)
    return Status(404, {"detail": "no such run; ids look like {32 hex digits of the trace}-{16 of its root span}"})


@api.get(
    "/summary", response={200: Summary, 401: Problem, 404: Problem, 422: Problem}, summary="Figures of a range of time"
)
def summary(request: HttpRequest, query: Query[SummaryQuery]) -> Any:
    """Counts, quantiles, sums and rates of runs, model calls and tools; without a range, of the last 24 hours."""
    return summarise(request.access.scope, query.as_question(), time.time_ns())  # type: ignore[attr-defined]


@api.get("/summary.csv", response={401: Problem, 404: Problem, 422: Problem}, summary="Figures as CSV")
def summary_csv(request: HttpRequest, query: Query[SummaryQuery]) -> HttpResponse:
    """The same figures as `/summary` gives: a line for the range, for each group, and for each step and its groups."""
    return summary_table(summarise(request.access.scope, query.as_question(), time.time_ns()))  # type: ignore[attr-defined]


@api.get("/traces/{trace_id}", response={200: TraceWhole, 401: Problem, 404: Problem}, summary="A trace as stored")
def trace(request: HttpRequest, trace_id: str, attributes: bool = True) -> Any:
    """The trace's run ids and its spans as they were received; ``attributes=0`` leaves out what is large."""
    found = trace_detail(request.access.scope, trace_id, with_attributes=attributes)  # type: ignore[attr-defined]
    return Status(200, found) if found else Status(404, {"detail": "no such trace; its id is 32 hex digits"})


@api.get("/prices", response={200: Prices, 401: Problem, 404: Problem}, summary="What models cost", by_alias=True)
def prices(request: HttpRequest) -> Any:
    return _prices(request.access)  # type: ignore[attr-defined]


@api.put(
    "/prices",
    response={200: Prices, 401: Problem, 403: Problem, 404: Problem, 422: Problem},
    summary="Replace the project's own prices",
    by_alias=True,
)
def put_prices(request: HttpRequest, told: OwnPrices) -> Any:
    """For its administrators. Costs are computed when they are asked for, so those of the past follow."""
    access: Access = request.access  # type: ignore[attr-defined]
    access.require(Role.ADMIN)
    write_table(access.project, parse(told.currency, [price.dict(by_alias=True) for price in told.prices]))
    return _prices(access)


def _prices(access: Access) -> dict[str, Any]:
    own, common = read_tables(access.scope)
    told = own or common
    return {
        "currency": told.currency if told else None,
        "zone": access.project.zone,
        "prices": written(own) if own else [],
        "for_all_projects": written(common) if common else [],
    }

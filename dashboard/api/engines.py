"""Engines: how they are, how they went, and what is scraped."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from dashboard.access import Access
from dashboard.api.engine_shapes import (
    Engine,
    EngineList,
    EngineWhole,
    NewTarget,
    SeriesAnswer,
    TargetChange,
)
from dashboard.api.shapes import Problem
from dashboard.models import Role
from ingest.engines.targets import TargetRefused, add_target, change_target
from ingest.models import EngineTarget
from ingest.models.engine import Origin
from ingest.read.engines import BadSeries, list_engines, read_engine, read_failures, read_series, series_names

router = Router(tags=["engines"])
LONGEST_STEP_S = 31 * 86_400
NS, DAY_NS, HOUR_NS = 10**9, 86_400 * 10**9, 3600 * 10**9
BIGINT = {"ge": -(2**63), "le": 2**63 - 1}
NONE = {"detail": "no such engine"}
REFUSALS = {401: Problem, 403: Problem, 404: Problem, 422: Problem}


class SeriesQuery(Schema):
    metric: str = Field("running", description=f"one, or several with commas: {', '.join(series_names())}")
    from_: int | None = Field(None, alias="from", description="Unix nanoseconds; else an hour ago", **BIGINT)
    to: int | None = Field(None, description="Unix nanoseconds; else now", **BIGINT)
    step: int = Field(60, description="seconds", ge=1, le=LONGEST_STEP_S)
    model: str | None = None


@router.get("", response={200: EngineList, 401: Problem, 404: Problem}, summary="Engines, those in trouble first")
def engines(request: HttpRequest) -> Any:
    """Targets that are scraped, and servers whose metrics come by OTLP, with their figures of the last five minutes."""
    return {"engines": list_engines(_access(request).scope, time.time_ns())}


@router.post("", response={201: Engine, **REFUSALS}, summary="Scrape another engine")
def add(request: HttpRequest, given: NewTarget) -> Any:
    access = _access(request)
    access.require(Role.ADMIN)
    try:
        made = add_target(access.project, given.as_given(), Origin.API)
    except TargetRefused as refused:
        return Status(422, {"detail": str(refused)})
    return Status(201, read_engine(access.scope, made.pk, time.time_ns()))


@router.get("/{int:engine_id}", response={200: EngineWhole, 401: Problem, 404: Problem}, summary="One engine")
def engine(request: HttpRequest, engine_id: int) -> Any:
    scope, now_ns = _access(request).scope, time.time_ns()
    found = read_engine(scope, engine_id, now_ns)
    if found is None:
        return Status(404, NONE)
    failures = read_failures(scope, engine_id, now_ns - DAY_NS)
    return Status(200, {**{name: getattr(found, name) for name in found.__slots__}, "recent_failures": failures})


@router.patch("/{int:engine_id}", response={200: Engine, **REFUSALS}, summary="Change what is scraped, or how")
def change(request: HttpRequest, engine_id: int, given: TargetChange) -> Any:
    access = _access(request)
    access.require(Role.ADMIN)
    target = EngineTarget.objects.filter(project=access.project, pk=engine_id).first()
    if target is None:
        return Status(404, NONE)
    try:
        change_target(target, given.as_given())
    except TargetRefused as refused:
        return Status(422, {"detail": str(refused)})
    return Status(200, read_engine(access.scope, engine_id, time.time_ns()))


@router.delete("/{int:engine_id}", response={204: None, **REFUSALS}, summary="Scrape an engine no more")
def remove(request: HttpRequest, engine_id: int) -> Any:
    """Its samples go with retention, and are shown nowhere any more."""
    access = _access(request)
    access.require(Role.ADMIN)
    gone, _ = EngineTarget.objects.filter(project=access.project, pk=engine_id).delete()
    return Status(204, None) if gone else Status(404, NONE)


@router.get(
    "/{int:engine_id}/series",
    response={200: SeriesAnswer, 401: Problem, 404: Problem, 422: Problem},
    summary="How an engine's figures went over time",
)
def series(request: HttpRequest, engine_id: int, query: Query[SeriesQuery]) -> Any:
    """By step: of a gauge mean, highest and last, of a counter count and rate, of a histogram quantiles and mean."""
    scope, now_ns = _access(request).scope, time.time_ns()
    to_ns = now_ns if query.to is None else query.to
    from_ns = to_ns - HOUR_NS if query.from_ is None else query.from_
    target = EngineTarget.objects.filter(project_id=scope.project_id, pk=engine_id).first()
    if target is None:
        return Status(404, NONE)
    try:
        found = read_series(scope, engine_id, query.metric.split(","), from_ns, to_ns, query.step, query.model)
    except BadSeries as error:
        return Status(422, {"detail": str(error)})
    return Status(200, {"engine": target.name, "series": found})


def _access(request: HttpRequest) -> Access:
    return request.access  # type: ignore[attr-defined,no-any-return]

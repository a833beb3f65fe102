"""The API's routes of deploys: told by whoever deploys, and seen in spans."""

from __future__ import annotations

import time
from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field, StringConstraints

from dashboard.access import Access
from dashboard.api.shapes import Problem, Shape, UnixNs
from dashboard.models import Role
from ingest.read.deploys import read_deploys, tell_deploy

DAY_NS = 86_400 * 10**9
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00]*$")]

router = Router()


class Deploy(Shape):
    service: str
    version: str
    at_unix_ns: UnixNs
    source: str = Field(description="told by somebody, or seen: when the version's first run began")


class Deploys(Schema):
    deploys: list[Deploy]


class Told(Schema):
    """A version that went live. Without ``at_unix_ns`` it did so now."""

    service: Name
    version: Name
    at_unix_ns: int | None = Field(None, ge=0, le=2**63 - 1, description="Unix nanoseconds, as number or text")


class Range(Schema):
    from_: int | None = Field(None, alias="from", ge=0, le=2**63 - 1, description="Unix nanoseconds, inclusive")
    to: int | None = Field(None, ge=0, le=2**63 - 1, description="Unix nanoseconds, exclusive")


@router.get("", response={200: Deploys, 401: Problem, 404: Problem, 422: Problem}, summary="When what went live")
def deploys(request: HttpRequest, asked: Query[Range]) -> Any:
    """Of a range, or of the last 24 hours."""
    access: Access = request.access  # type: ignore[attr-defined]
    to_ns = time.time_ns() if asked.to is None else asked.to
    from_ns = to_ns - DAY_NS if asked.from_ is None else asked.from_
    return {"deploys": read_deploys(access.scope, from_ns, to_ns)}


@router.post(
    "", response={201: Deploy, 401: Problem, 403: Problem, 404: Problem, 422: Problem}, summary="Tell of a deploy"
)
def tell(request: HttpRequest, told: Told) -> Any:
    """For editors of the project. Telling the same again changes nothing."""
    access: Access = request.access  # type: ignore[attr-defined]
    access.require(Role.EDITOR)
    at_ns = time.time_ns() if told.at_unix_ns is None else told.at_unix_ns
    return Status(201, tell_deploy(access.scope, told.service, told.version, at_ns))

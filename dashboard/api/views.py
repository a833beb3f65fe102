"""The API's routes beside the query line: saved views, and what may stand at a place in a query."""

from __future__ import annotations

import time
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import Field

from dashboard.access import Access
from dashboard.api.shapes import Problem, Shape
from dashboard.saved_views import ADDRESS_MOST, NAME_MOST, list_views, remove_view, save_view
from ingest.read.completing import complete
from ingest.read.runs import RunFilter

HOUR_NS = 3600 * 10**9
TEXT_MOST = 4_000
READ = {401: Problem, 404: Problem}

views = Router(tags=["views"])
completion = Router(tags=["runs"])


class SavedView(Shape):
    """``address`` is what follows ``/runs?``."""

    id: int
    name: str
    address: str
    shared: bool
    may_remove: bool


class SavedViews(Schema):
    views: list[SavedView]


class Saving(Schema):
    """A name that is taken already by a view of the same kind (own, shared) gets the new address."""

    name: str = Field(max_length=NAME_MOST)
    address: str = Field(max_length=ADDRESS_MOST, examples=["q=service:checkout wall>5s&sort=slowest"])
    shared: bool = False


@views.get("", response={200: SavedViews, **READ}, summary="Saved views: one's own and the project's")
def saved(request: HttpRequest) -> Any:
    access: Access = request.access  # type: ignore[attr-defined]
    return {"views": list_views(access, request.user)}


@views.post("", response={201: SavedView, 403: Problem, 422: Problem, **READ}, summary="Save a view")
def save(request: HttpRequest, told: Saving) -> Any:
    """Shared ones are for editors. A read token has no views of its own."""
    access: Access = request.access  # type: ignore[attr-defined]
    return Status(201, save_view(access, request.user, told.name, told.address, shared=told.shared))


@views.get("/{int:view_id}", response={200: SavedView, **READ}, summary="One saved view")
def one(request: HttpRequest, view_id: int) -> Any:
    access: Access = request.access  # type: ignore[attr-defined]
    found = next((view for view in list_views(access, request.user) if view.id == view_id), None)
    return found or Status(404, {"detail": f"there is no view {view_id} that you see"})


@views.delete("/{int:view_id}", response={204: None, 403: Problem, **READ}, summary="Remove a view")
def remove(request: HttpRequest, view_id: int) -> Any:
    access: Access = request.access  # type: ignore[attr-defined]
    if view_id >= 2**63 or not remove_view(access, request.user, view_id):
        return Status(404, {"detail": f"there is no view {view_id} that you see"})
    return Status(204, None)


class Choice(Shape):
    """``runs`` is how many of ``among`` would be left; null where that was not counted."""

    insert: str
    says: str
    runs: int | None
    among: int | None


class Completion(Shape):
    """A choice takes the place of the characters from ``start`` to ``end`` (exclusive)."""

    start: int
    end: int
    choices: list[Choice]


class Typing(Schema):
    text: str = Field("", max_length=TEXT_MOST, description="a query, as far as it is written")
    at: int | None = Field(
        None, ge=0, le=TEXT_MOST, description="the cursor, in characters from 0; else the text's end"
    )
    from_: int | None = Field(None, alias="from", ge=0, le=2**63 - 1, description="Unix nanoseconds, inclusive")
    to: int | None = Field(None, ge=0, le=2**63 - 1, description="Unix nanoseconds, exclusive")


@completion.get("", response={200: Completion, 422: Problem, **READ}, summary="What may stand next in a query")
def complete_query(request: HttpRequest, typing: Query[Typing]) -> Any:
    """From the values that runs of a range (or of the last hour) really have."""
    access: Access = request.access  # type: ignore[attr-defined]
    now_ns, text = time.time_ns(), typing.text.replace("\0", "")
    begins_ns = (typing.to or now_ns) - HOUR_NS if typing.from_ is None else typing.from_
    wanted = RunFilter(from_unix_ns=begins_ns, to_unix_ns=typing.to)
    return complete(access.scope, wanted, text, len(text) if typing.at is None else typing.at, now_ns)

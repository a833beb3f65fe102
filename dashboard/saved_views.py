"""Saved views of the list of runs: one's own, and those that a project shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.db.models import Q, QuerySet

from dashboard.access import Access
from dashboard.models import Role, SavedView

KEPT = ("range", "from", "to", "q", "sort", "bars", "columns")
VIEWS_MOST, NAME_MOST, ADDRESS_MOST = 100, 80, 4_000


class ViewRefused(ValueError):
    """A view that cannot be saved; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """``may_remove``: its owner, and an editor where it is shared."""

    id: int
    name: str
    address: str
    shared: bool
    may_remove: bool


def list_views(access: Access, user: Any) -> list[View]:
    """A reader's own and the shared ones, by name."""
    return [_view(access, row, user) for row in _seen(access, user).order_by("name", "pk")]


def save_view(access: Access, user: Any, name: str, address: str, *, shared: bool) -> View:
    """Under a name that the reader sees already it takes that one's place, if it may. Raises ViewRefused and
    AccessRefused."""
    name = name.replace("\0", "").strip()
    if not name or len(name) > NAME_MOST:
        raise ViewRefused(f"name: expected 1 to {NAME_MOST} characters")
    if shared:
        access.require(Role.EDITOR)
    elif _owner(user) is None and not settings.SIXSTAGE_OPEN:
        raise ViewRefused("a token has no views of its own: sign in, or share the view")
    kept = urlencode([(key, value) for key, value in parse_qsl(address.replace("\0", "")) if key in KEPT])
    if len(kept) > ADDRESS_MOST:
        raise ViewRefused("this view’s address is too long to be saved")
    same = _seen(access, user).filter(name=name, shared=shared).first()
    if same is None and access.project.saved_views.count() >= VIEWS_MOST * 10:
        raise ViewRefused("this project has too many saved views: remove some")
    row = same or SavedView(project=access.project, owner=_owner(user), name=name, shared=shared)
    row.address = kept
    row.save()
    return _view(access, row, user)


def remove_view(access: Access, user: Any, view_id: int) -> bool:
    """Whether there was such a view that the reader sees. Raises AccessRefused."""
    row = _seen(access, user).filter(pk=view_id).first()
    if row is None:
        return False
    if row.owner != _owner(user):
        access.require(Role.EDITOR)
    row.delete()
    return True


def _seen(access: Access, user: Any) -> QuerySet[SavedView]:
    return SavedView.objects.filter(Q(owner=_owner(user)) | Q(shared=True), project=access.project)


def _owner(user: Any) -> Any:
    return user if getattr(user, "is_authenticated", False) else None


def _view(access: Access, row: SavedView, user: Any) -> View:
    mine = row.owner_id == getattr(_owner(user), "pk", None)
    return View(
        id=row.pk, name=row.name, address=row.address, shared=row.shared,
        may_remove=mine or access.role.allows(Role.EDITOR),
    )  # fmt: skip



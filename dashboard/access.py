"""Who may see what. Default deny: a view is open to strangers only if it is marked ``public``.

One function, ``resolve``, answers for pages, API and sockets alike; it is the only maker of a Scope.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils import timezone

from dashboard.models import Membership, ReadToken, Role
from ingest.models.project import Project, secret_digest
from ingest.scope import Scope

View = TypeVar("View", bound=Callable[..., Any])


class AccessRefused(Exception):
    """The request may not see what it asks for. ``status`` is 401 for strangers, 403 for too small a role,
    404 for a project that the reader is not a member of (which tells no one that it exists)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """A reader's view of one project. ``who`` is for display."""

    who: str
    project: Project
    role: Role
    projects: tuple[Project, ...]

    @property
    def scope(self) -> Scope:
        return Scope(project_id=self.project.pk)

    def require(self, wanted: Role) -> None:
        if not self.role.allows(wanted):
            raise AccessRefused(403, f"this needs the role {wanted} in {self.project.slug}; yours is {self.role}")


def public(view: View) -> View:
    """Mark a view that strangers may see."""
    view.sixstage_public = True  # type: ignore[attr-defined]
    return view


def resolve(user: AbstractBaseUser | AnonymousUser | None, authorization: str, wanted_slug: str | None) -> Access:
    """The access that a user or a bearer token has, in the wanted project or else in the first.

    Raises AccessRefused.
    """
    scheme, _, credential = authorization.partition(" ")
    if scheme.lower() == "bearer" and credential:
        return _by_token(credential.strip(), wanted_slug)
    if settings.SIXSTAGE_OPEN:
        projects = tuple(Project.objects.order_by("pk"))
        return _choose("local administrator", dict.fromkeys(projects, Role.ADMIN), wanted_slug)
    if user is None or not user.is_authenticated:
        raise AccessRefused(401, "sign in, or send a read token as 'Authorization: Bearer …'")
    if getattr(user, "is_superuser", False):
        return _choose(str(user), dict.fromkeys(Project.objects.order_by("pk"), Role.ADMIN), wanted_slug)
    memberships = Membership.objects.filter(user=user).select_related("project").order_by("project_id")
    return _choose(str(user), {m.project: Role(m.role) for m in memberships}, wanted_slug)


def _by_token(secret: str, wanted_slug: str | None) -> Access:
    token = ReadToken.objects.select_related("project").filter(
        digest=secret_digest(secret), revoked_at=None, created_at__lte=timezone.now()
    ).first()  # fmt: skip
    if token is None:
        raise AccessRefused(401, "this read token is unknown or revoked; an ingest key (sxi_…) cannot read")
    return _choose(f"token {token.name}", {token.project: Role.VIEWER}, wanted_slug)


def _choose(who: str, roles: dict[Project, Role], wanted_slug: str | None) -> Access:
    projects = tuple(roles)
    chosen = next((p for p in projects if wanted_slug is None or p.slug == wanted_slug), None)
    if chosen is None:
        raise AccessRefused(404, "no such project" if wanted_slug else "you are not a member of any project yet")
    return Access(who=who, project=chosen, role=roles[chosen], projects=projects)


class AccessMiddleware:
    """Puts ``request.access`` on every request before its view runs, or answers in the view's stead."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Callable[..., Any], *_: Any) -> HttpResponseBase | None:
        if getattr(view, "sixstage_public", False):
            return None
        try:
            request.access = resolve(  # type: ignore[attr-defined]
                request.user, request.headers.get("Authorization", ""), request.GET.get("project") or None
            )
        except AccessRefused as refused:
            return refusal(request, refused)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        return refusal(request, error) if isinstance(error, AccessRefused) else None


def refusal(request: HttpRequest, refused: AccessRefused) -> HttpResponseBase:
    """JSON for programs, the log-in page for people."""
    if request.path.startswith("/api/") or request.path == "/metrics":
        return JsonResponse({"detail": refused.message}, status=refused.status)
    if refused.status == 401:
        return HttpResponseRedirect(f"{reverse('login')}?{urlencode({'next': request.get_full_path()})}")
    from django.shortcuts import render

    return render(request, "refused.html", {"message": refused.message}, status=refused.status)


def page_context(request: HttpRequest) -> dict[str, Any]:
    """What the frame of every page needs."""
    return {"access": getattr(request, "access", None), "open_instance": settings.SIXSTAGE_OPEN}

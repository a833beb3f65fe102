"""Settings: the project, its keys, tokens and members, and how to send data. Only its administrators change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard import projects
from dashboard.access import Access
from dashboard.models import Role
from dashboard.pages.parts.price_table import shown_prices
from dashboard.pages.parts.refused import read_refused
from dashboard.pages.parts.start import exporter
from dashboard.projects import ChangeRefused
from ingest.models.project import Project

Change = Callable[..., HttpResponse | None]


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return _show(request)


def _change(section: str) -> Callable[[Change], Change]:
    """Make ``change(request, project, …)`` a view: for administrators, by POST, with a refusal shown in its
    ``section``. What answers nothing leads back to the page."""

    def as_view(change: Change) -> Change:
        @never_cache
        def view(request: HttpRequest, **ids: int) -> HttpResponse:
            access: Access = request.access  # type: ignore[attr-defined]
            if request.method != "POST":  # an address out of the browser's history
                return _back(access.project)
            access.require(Role.ADMIN)
            try:
                return change(request, access.project, **ids) or _back(access.project)
            except ChangeRefused as refused:
                return _show(request, status=422, problem_section=section, problem=str(refused))

        return view

    return as_view


@_change("project")
def rename(request: HttpRequest, project: Project) -> None:
    projects.rename_project(project, request.POST.get("name", ""), request.POST.get("zone", ""))


@_change("limits")
def limit(request: HttpRequest, project: Project) -> None:
    given = request.POST
    projects.set_limits(
        project, given.get("spans_per_s", ""), given.get("mib_per_day", ""), given.get("keep_payload", "") == "yes"
    )


@_change("prices")
def set_prices(request: HttpRequest, project: Project) -> None:
    projects.set_prices(project, request.POST.get("prices", ""))


@_change("new-project")
def create(request: HttpRequest, _project: Project) -> HttpResponse:
    given = request.POST
    made = projects.create_project(
        given.get("slug", ""), given.get("name", "") or given.get("slug", ""), given.get("zone", ""), request.user
    )
    return _back(made)


@_change("keys")
def issue_key(request: HttpRequest, project: Project) -> HttpResponse:
    key, secret = projects.issue_key(project, request.POST.get("name", ""))
    return _show(request, secret=secret, secret_section="keys", secret_name=key.name)


@_change("keys")
def revoke_key(_request: HttpRequest, project: Project, key_id: int) -> None:
    if not projects.revoke(project.ingest_keys.filter(pk=key_id)):
        raise Http404


@_change("tokens")
def issue_token(request: HttpRequest, project: Project) -> HttpResponse:
    token, secret = projects.issue_token(project, request.POST.get("name", ""))
    return _show(request, secret=secret, secret_section="tokens", secret_name=token.name)


@_change("tokens")
def revoke_token(_request: HttpRequest, project: Project, token_id: int) -> None:
    if not projects.revoke(project.read_tokens.filter(pk=token_id)):
        raise Http404


@_change("members")
def add_member(request: HttpRequest, project: Project) -> None:
    projects.add_member(project, request.POST.get("username", ""), request.POST.get("role", ""))


@_change("members")
def change_role(request: HttpRequest, project: Project, user_id: int) -> None:
    projects.change_role(project, user_id, request.POST.get("role", ""))


@_change("members")
def remove_member(_request: HttpRequest, project: Project, user_id: int) -> None:
    projects.remove_member(project, user_id)


def _back(project: Project) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('settings')}?{urlencode({'project': project.slug})}")


def _show(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    is_admin = access.role.allows(Role.ADMIN)
    context = {"page": "settings", "is_admin": is_admin, "given": request.POST, **exporter(_ingest_key(said)), **said}
    if is_admin:
        context |= {
            "keys": access.project.ingest_keys.order_by("revoked_at", "-created_at"),
            "tokens": access.project.read_tokens.order_by("revoked_at", "-created_at"),
            "members": access.project.memberships.select_related("user").order_by("user__username"),
            "roles": Role.choices,
            "refused": read_refused(access.project),
            "zones": sorted(projects.zones()),
            "limits": _limits(access.project),
        } | shown_prices(access.scope)
    return render(request, "settings/page.html", context, status=status)


def _ingest_key(said: Mapping[str, Any]) -> str | None:
    """The one that was just made, which stands in the texts to copy this once."""
    return said["secret"] if said.get("secret_section") == "keys" else None


def _limits(project: Project) -> dict[str, int | str]:
    """As they stand in the form."""
    per_day = project.bytes_per_day
    return {"spans_per_s": project.spans_per_s or "", "mib_per_day": "" if per_day is None else per_day >> 20}

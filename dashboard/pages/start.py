"""The first hour: how to send from each SDK, filled in; simulated traffic; what has arrived; what was refused."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard import demo_traffic
from dashboard.access import Access
from dashboard.demo_traffic import DemoRefused
from dashboard.models import Role
from dashboard.pages.parts.refused import read_refused
from dashboard.pages.parts.start import exporter, steps
from ingest.read.first_hour import read_first_hour


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "start/page.html", {"page": "start", **exporter(), **_progress(request)})


@require_safe
def progress(request: HttpRequest) -> HttpResponse:
    """The checklist and the refused requests, which the page asks for again and again."""
    return render(request, "start/progress.html", _progress(request))


def demo(request: HttpRequest) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    if request.method == "POST":
        access.require(Role.ADMIN)
        try:
            demo_traffic.start()
        except DemoRefused as refused:
            return render(
                request, "start/page.html",
                {"page": "start", "problem": str(refused), **exporter(), **_progress(request)}, status=409,
            )  # fmt: skip
    kept = f"?project={access.project.slug}" if request.GET.get("project") else ""
    return HttpResponseRedirect(reverse("start") + kept)


def _progress(request: HttpRequest) -> dict[str, Any]:
    access: Access = request.access  # type: ignore[attr-defined]
    is_admin = access.role.allows(Role.ADMIN)
    return {
        "steps": steps(read_first_hour(access.scope)),
        "refused": read_refused(access.project) if is_admin else [], "tells_refused": is_admin,
        "demo_runs": demo_traffic.is_running(),
    }  # fmt: skip

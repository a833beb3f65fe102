"""Status: whether this instance is well, what is wrong and what to do about it. For administrators."""

from __future__ import annotations

import re
import time
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.access import Access
from dashboard.models import Role
from dashboard.pages.parts import health
from ingest.observing import queue

TRACE_ID = re.compile(r"[0-9a-f]{32}")


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return render(request, "status/page.html", {"page": "status", **_health(request)})


@never_cache
@require_safe
def body(request: HttpRequest) -> HttpResponse:
    return render(request, "status/body.html", _health(request))


@never_cache
def try_again(request: HttpRequest) -> HttpResponse:
    """Give a trace that was set aside its tries back; without a trace id, all of the project."""
    access: Access = request.access  # type: ignore[attr-defined]
    if request.method == "POST":
        access.require(Role.ADMIN)
        given = request.POST.get("trace_id", "")
        if not given or TRACE_ID.fullmatch(given):
            count = queue.try_again(access.scope, time.time_ns(), bytes.fromhex(given) if given else None)
            messages.info(request, health.tried_again(count))
    return HttpResponseRedirect(f"{reverse('status')}?{urlencode({'project': access.project.slug})}")


def _health(request: HttpRequest) -> dict[str, Any]:
    access: Access = request.access  # type: ignore[attr-defined]
    access.require(Role.ADMIN)
    return health.read(access)

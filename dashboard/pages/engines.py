"""Engines: all that are scraped, one of them in full, and the forms that add, change and remove them."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.access import Access
from dashboard.models import Role
from dashboard.pages.parts import engine_charts, engine_tiles, window
from ingest.engines.credentials import Scheme
from ingest.engines.kinds import LABELS
from ingest.engines.targets import KINDS, Given, TargetRefused, add_target, change_target
from ingest.models import EngineTarget
from ingest.models.engine import Origin
from ingest.read.engines import list_engines, read_engine, read_failures, read_series

DAY_NS = 86_400 * window.SECOND_NS
SCHEMES = (("none", "none"), (Scheme.BEARER, "a bearer token"), (Scheme.BASIC, "user and password"),
           (Scheme.HEADER, "a header"))  # fmt: skip


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    return _list(request)


@never_cache
@require_safe
def engine(request: HttpRequest, engine_id: int) -> HttpResponse:
    return _one(request, engine_id)


def add(request: HttpRequest) -> HttpResponse:
    access = _admin(request)
    if access is None:
        return _to("engines", request)
    try:
        made = add_target(access.project, _given(request), Origin.PAGE)
    except TargetRefused as refused:
        return _list(request, status=422, problem=str(refused))
    return _to("engine", request, made.pk)


def change(request: HttpRequest, engine_id: int) -> HttpResponse:
    access = _admin(request)
    if access is None:
        return _to("engine", request, engine_id)
    target = _mine(access, engine_id)
    try:
        change_target(target, _given(request))
    except TargetRefused as refused:
        return _one(request, engine_id, status=422, problem=str(refused))
    return _to("engine", request, engine_id)


def remove(request: HttpRequest, engine_id: int) -> HttpResponse:
    access = _admin(request)
    if access is not None:
        _mine(access, engine_id).delete()
    return _to("engines", request)


def _list(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    rows = [engine_tiles.shown(row) for row in list_engines(access.scope, time.time_ns(), engine_tiles.IN_LIST)]
    context = {"page": "engines", "engines": rows, **_form(access, request), **said}
    return render(request, "engines/page.html", context, status=status)


def _one(request: HttpRequest, engine_id: int, status: int = 200, **said: Any) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    now_ns = time.time_ns()
    row = read_engine(access.scope, engine_id, now_ns)
    if row is None:
        raise Http404
    shown, _ = window.read_window({"range": request.GET.get("range", "")}, now_ns)
    chosen = shown.range or window.USUAL
    models = row.model_names if len(row.model_names) > 1 else []
    model = request.GET.get("model") if request.GET.get("model") in models else None
    told = next((one for one in row.models if one.model == model), row.figures)
    drawn = engine_charts.draw(_series(access, engine_id, chosen, now_ns, model))
    context = {
        "page": "engines", "engine": engine_tiles.shown(row), "row": row, "range": chosen, "window": shown,
        "models": models, "model": model, "tiles": engine_tiles.tiles(told) if told else [],
        "endings": engine_tiles.endings(told) if told else [], "told": told, "charts": drawn,
        "reasons": engine_tiles.REASONS, "failures": read_failures(access.scope, engine_id, now_ns - DAY_NS, 20),
        "interval_s": f"{row.interval_ms / 1000:g}", "unverified": not row.verify_tls, **_form(access, request), **said,
    }  # fmt: skip
    return render(request, "engines/engine.html", context, status=status)


def _series(access: Access, engine_id: int, chosen: window.Range, now_ns: int, model: str | None) -> Any:
    """Steps begin at whole multiples, so that a chart drawn anew shows the same steps."""
    step_ns = chosen.step_s * window.SECOND_NS
    from_ns = (now_ns // step_ns - chosen.seconds // chosen.step_s + 1) * step_ns
    return read_series(access.scope, engine_id, engine_charts.METRICS, from_ns, now_ns, chosen.step_s, model) or []


def _form(access: Access, request: HttpRequest) -> dict[str, Any]:
    return {
        "may_change": access.role.allows(Role.ADMIN), "schemes": SCHEMES, "given": request.POST,
        "kinds": [(kind.value, LABELS[kind]) for kind in KINDS],
    }  # fmt: skip


def _admin(request: HttpRequest) -> Access | None:
    """The access of an administrator who has sent a form; None for an address out of the browser's history."""
    access: Access = request.access  # type: ignore[attr-defined]
    if request.method != "POST":
        return None
    access.require(Role.ADMIN)
    return access


def _mine(access: Access, engine_id: int) -> EngineTarget:
    target = EngineTarget.objects.filter(project=access.project, pk=engine_id).first()
    if target is None:
        raise Http404
    return target


def _given(request: HttpRequest) -> Given:
    """The form's fields; what it does not have stays as it is. An empty secret keeps the one that is kept."""
    sent = request.POST
    scheme = sent.get("scheme")
    if scheme not in (None, "none", "") and not sent.get("secret") and sent.get("keep_secret"):
        scheme = None

    def field(name: str) -> str | None:
        return (sent.get(name) or "").strip() or None

    return Given(
        url=field("url"), name=field("name"), kind=field("kind"), interval_ms=_ms(sent.get("interval_s")),
        timeout_ms=_ms(sent.get("timeout_s")), verify_tls=_yes(sent.get("verify_tls")),
        enabled=_yes(sent.get("enabled")), scheme=scheme or None, user=sent.get("user", ""),
        secret=sent.get("secret", ""),
    )  # fmt: skip


def _ms(text: str | None) -> int | None:
    if not (text or "").strip():
        return None
    try:
        return round(float(text or "") * 1000)
    except (ValueError, OverflowError):
        raise TargetRefused(f"{(text or '')[:20]!r} is no number of seconds") from None


def _yes(text: str | None) -> bool | None:
    return None if text is None else text == "yes"


def _to(name: str, request: HttpRequest, *ids: Any) -> HttpResponse:
    access: Access = request.access  # type: ignore[attr-defined]
    return HttpResponseRedirect(f"{reverse(name, args=ids)}?{urlencode({'project': access.project.slug})}")

"""Alerts: what fires, the rules and how they stand, what has fired, silences, channels and objectives."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dashboard.access import Access
from dashboard.alerts import history, previews
from dashboard.alerts.as_code import export
from dashboard.alerts.core.quiet import DAYS
from dashboard.alerts.core.written import RuleRefused, read_rule
from dashboard.alerts.models import AlertRule, Channel, Firing, Notification
from dashboard.alerts.models.rule import slos_of
from dashboard.alerts.notifiers import NOTIFIERS
from dashboard.alerts.readings import Incomplete
from dashboard.alerts.ready import BY_KEY, READY
from dashboard.alerts.silencing import open_silences
from dashboard.models import Role
from dashboard.pages.parts import alert_form, alert_rows
from dashboard.pages.parts.window import SECOND_NS
from ingest.read.engines import BadSeries
from ingest.read.runs import BadFilter

DAY_NS = 86_400 * SECOND_NS
HISTORY = (("24h", "24 h", DAY_NS), ("7d", "7 d", 7 * DAY_NS), ("30d", "30 d", 30 * DAY_NS))


@never_cache
@require_safe
def page(request: HttpRequest) -> HttpResponse:
    """What fires now, and the rules."""
    return show_rules(request)


def show_rules(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access, now_ns = access_of(request), time.time_ns()
    context = frame(request, "rules") | {
        "firing": history.read_firing_now(access.scope), "rules": alert_rows.rule_rows(access.scope),
        "ready": READY, "now_ns": now_ns,
    } | said  # fmt: skip
    return render(request, "alerts/page.html", context, status=status)


@never_cache
@require_safe
def firing_now(request: HttpRequest) -> HttpResponse:
    """The part of the Live page that tells of alerts."""
    access = access_of(request)
    found = history.read_firing_now(access.scope)
    return render(request, "alerts/firing.html", {"firing": found, "may_change": may(access), "now_ns": time.time_ns()})


@never_cache
@require_safe
def past(request: HttpRequest) -> HttpResponse:
    access, now_ns = access_of(request), time.time_ns()
    chosen = next((one for one in HISTORY if one[0] == request.GET.get("range")), HISTORY[1])
    found = history.read_firings(access.scope, now_ns - chosen[2], now_ns)
    context = frame(request, "history") | {"firings": found, "ranges": HISTORY, "range": chosen, "now_ns": now_ns}
    return render(request, "alerts/history.html", context)


@never_cache
@require_safe
def firing(request: HttpRequest, firing_id: UUID) -> HttpResponse:
    """One time that an alert fired: its facts, and who was told or not and why."""
    access, now_ns = access_of(request), time.time_ns()
    found = Firing.objects.filter(project=access.project, pk=firing_id).select_related("project", "rule").first()
    if found is None:
        raise Http404
    context = frame(request, "history") | alert_rows.firing_context(found, now_ns) | {"now_ns": now_ns}
    return render(request, "alerts/firing_page.html", context)


@never_cache
@require_safe
def new_rule(request: HttpRequest) -> HttpResponse:
    ready = BY_KEY.get(request.GET.get("ready", ""))
    told = dict(ready.told) if ready else {"of": "calls.ttft", "above": "3s", "for": "5m"}
    if slo := request.GET.get("slo"):
        told = {"name": f"{slo} burns", "burns": {"slo": slo}, "severity": "critical"}
    return show_form(request, None, told, ready=ready)


@never_cache
@require_safe
def rule(request: HttpRequest, rule_id: int) -> HttpResponse:
    row = AlertRule.objects.filter(project=access_of(request).project, pk=rule_id).first()
    if row is None:
        raise Http404
    return show_form(request, row, row.body)


def show_form(
    request: HttpRequest, row: AlertRule | None, told: dict[str, Any], status: int = 200, **said: Any
) -> HttpResponse:
    access, now_ns = access_of(request), time.time_ns()
    slos = slos_of(access.project.pk)
    context = frame(request, "rules") | alert_form.choices(access.project, slos) | {
        "row": row, "given": alert_form.fields_of(told), "now_ns": now_ns,
        "alerts": alert_rows.alert_rows(row) if row else [],
        "firings": [history.row_of(one) for one in row.firings.order_by("-fired_unix_ns")[:10]] if row else [],
    } | said  # fmt: skip
    return render(request, "alerts/rule.html", context, status=status)


@never_cache
@require_safe
def preview(request: HttpRequest) -> HttpResponse:
    """The rule of a form, drawn on the last week; what cannot be drawn says why."""
    access, now_ns = access_of(request), time.time_ns()
    base = AlertRule.objects.filter(project=access.project, pk=_whole(request.GET.get("rule_id"))).first()
    told = alert_form.told_of(request.GET, request.GET.getlist("channels"), base.body if base else None)
    slos = slos_of(access.project.pk)
    try:
        wanted = read_rule({"name": "This rule"} | told, slos)
        slo = slos.get(getattr(wanted.condition, "slo", ""))
        drawn = previews.draw(access.project, wanted, slo, now_ns)
    except (RuleRefused, BadFilter, BadSeries, Incomplete) as error:
        return render(request, "alerts/preview.html", {"problem": str(error)})
    return render(request, "alerts/preview.html", {"drawn": drawn, "rule": wanted, "now_ns": now_ns})


@never_cache
@require_safe
def silences(request: HttpRequest) -> HttpResponse:
    return show_silences(request)


def show_silences(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access, now_ns = access_of(request), time.time_ns()
    rows = [alert_rows.silence_row(row, now_ns) for row in open_silences(access.project, now_ns)]
    prefilled = {"matchers": request.GET.get("matchers", "")[:1000]}
    context = frame(request, "silences") | {"silences": rows, "given": request.POST or prefilled, "days": DAYS} | said
    return render(request, "alerts/silences.html", context, status=status)


@never_cache
@require_safe
def channels(request: HttpRequest) -> HttpResponse:
    return show_channels(request)


def show_channels(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access = access_of(request)
    failed = Notification.objects.filter(project=access.project).exclude(error="").select_related("channel")
    context = frame(request, "channels") | {
        "channels": [alert_rows.channel_row(row) for row in
                     Channel.objects.filter(project=access.project).order_by("name")],
        "notifiers": list(NOTIFIERS.values()), "given": request.POST,
        "failed": failed.order_by("-made_unix_ns")[:20], "may_send": access.role.allows(Role.ADMIN),
    } | said  # fmt: skip
    return render(request, "alerts/channels.html", context, status=status)


@never_cache
@require_safe
def objectives(request: HttpRequest) -> HttpResponse:
    return show_objectives(request)


def show_objectives(request: HttpRequest, status: int = 200, **said: Any) -> HttpResponse:
    access, now_ns = access_of(request), time.time_ns()
    context = frame(request, "objectives") | {
        "results": alert_rows.objective_rows(access.scope, now_ns), "given": request.POST,
        "objectives": alert_rows.GOOD,
    } | said  # fmt: skip
    return render(request, "alerts/objectives.html", context, status=status)


@never_cache
@require_safe
def as_yaml(request: HttpRequest) -> HttpResponse:
    """Everything as a file for Git."""
    access = access_of(request)
    return HttpResponse(
        export(access.project), content_type="application/yaml; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="alerts-{access.project.slug}.yaml"'},
    )  # fmt: skip


def access_of(request: HttpRequest) -> Access:
    return request.access  # type: ignore[attr-defined,no-any-return]


def may(access: Access) -> bool:
    return access.role.allows(Role.EDITOR)


def frame(request: HttpRequest, tab: str) -> dict[str, Any]:
    return {"page": "alerts", "tab": tab, "may_change": may(access_of(request))}


def _whole(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 10 else 0

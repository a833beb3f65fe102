"""What the alerts pages change: each a form that is sent, one call, and back; a refusal is shown where it was sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db import models
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache

from dashboard.access import Access
from dashboard.alerts import as_code, channels, rules, silencing
from dashboard.alerts.as_code import CodeRefused
from dashboard.alerts.channels import ChannelRefused
from dashboard.alerts.core.quiet import QuietRefused
from dashboard.alerts.core.written import RuleRefused
from dashboard.alerts.models import AlertRule, Channel, Firing, Silence, SloRow
from dashboard.alerts.notifiers import NOTIFIERS
from dashboard.alerts.notifiers.registry import SendFailed
from dashboard.models import Role
from dashboard.pages import alerts
from dashboard.pages.parts import alert_form

Change = Callable[..., HttpResponse]


def _change(page: str, role: Role = Role.EDITOR) -> Callable[[Change], Change]:
    """Make ``change(request, access, …)`` a view: by POST, for this role; else back to the page."""

    def as_view(change: Change) -> Change:
        @never_cache
        def view(request: HttpRequest, **ids: Any) -> HttpResponse:
            access = alerts.access_of(request)
            if request.method != "POST":  # an address out of the browser's history
                return _to(access, page)
            access.require(role)
            return change(request, access, **ids)

        return view

    return as_view


@_change("alerts")
def add_rule(request: HttpRequest, access: Access) -> HttpResponse:
    told = alert_form.told_of(request.POST, request.POST.getlist("channels"))
    try:
        row = rules.save_rule(access.project, told, time.time_ns())
    except RuleRefused as refused:
        return alerts.show_form(request, None, told, 422, problem=str(refused))
    return _to(access, "alert-rule", row.pk)


@_change("alerts")
def change_rule(request: HttpRequest, access: Access, rule_id: int) -> HttpResponse:
    row = _mine(AlertRule, access, rule_id)
    told = alert_form.told_of(request.POST, request.POST.getlist("channels"), row.body)
    try:
        rules.save_rule(access.project, told, time.time_ns(), row=row)
    except RuleRefused as refused:
        return alerts.show_form(request, row, told, 422, problem=str(refused))
    return _to(access, "alert-rule", rule_id)


@_change("alerts")
def remove_rule(_: HttpRequest, access: Access, rule_id: int) -> HttpResponse:
    rules.remove_rule(_mine(AlertRule, access, rule_id), time.time_ns())
    return _to(access, "alerts")


@_change("alerts")
def add_ready(request: HttpRequest, access: Access) -> HttpResponse:
    """All ready-made rules that there are none of yet."""
    have = set(AlertRule.objects.filter(project=access.project).values_list("name", flat=True))
    now_ns = time.time_ns()
    for ready in alerts.READY:
        if ready.told["name"] not in have:
            rules.save_rule(access.project, ready.told, now_ns)
    return _to(access, "alerts")


@_change("alerts")
def take_file(request: HttpRequest, access: Access) -> HttpResponse:
    sent = request.FILES.get("file")
    text = sent.read(as_code.LARGEST + 1).decode("utf-8", "replace") if sent else request.POST.get("text", "")
    try:
        applied = as_code.apply(access.project, text, time.time_ns())
    except CodeRefused as refused:
        return alerts.show_rules(request, 422, problem=str(refused), text=text)
    told = [f"{len(names)} {word}" for word, names in (("made", applied.made), ("changed", applied.changed),
                                                       ("taken away", applied.removed)) if names]  # fmt: skip
    messages.info(request, f"{', '.join(told) or 'Nothing changed'}; {applied.same} as they were.")
    return _to(access, "alerts")


@_change("alerts")
def see(_: HttpRequest, access: Access, firing_id: UUID) -> HttpResponse:
    silencing.acknowledge(_mine(Firing, access, firing_id), access.who, time.time_ns())
    return _to(access, "alert-firing", firing_id)


@_change("alert-silences")
def add_silence(request: HttpRequest, access: Access) -> HttpResponse:
    fields = ("matchers", "for", "from", "to", "zone", "comment", "name")
    told: dict[str, Any] = {name: value for name in fields if (value := request.POST.get(name, "").strip())}
    if days := request.POST.getlist("days"):
        told["days"] = days
    try:
        silencing.add_silence(access.project, told, access.who, time.time_ns())
    except QuietRefused as refused:
        section = "mute" if request.POST.get("weekly") else "silence"
        return alerts.show_silences(request, 422, problem=str(refused), problem_section=section)
    return _to(access, "alert-silences")


@_change("alert-silences")
def end_silence(_: HttpRequest, access: Access, silence_id: int) -> HttpResponse:
    silencing.end_silence(_mine(Silence, access, silence_id), time.time_ns())
    return _to(access, "alert-silences")


@_change("alert-channels", Role.ADMIN)
def add_channel(request: HttpRequest, access: Access) -> HttpResponse:
    try:
        channels.save_channel(access.project, _channel(request, request.POST.get("notifier", "")))
    except ChannelRefused as refused:
        return alerts.show_channels(request, 422, problem=str(refused))
    return _to(access, "alert-channels")


@_change("alert-channels", Role.ADMIN)
def change_channel(request: HttpRequest, access: Access, channel_id: int) -> HttpResponse:
    row = _mine(Channel, access, channel_id)
    try:
        channels.save_channel(access.project, _channel(request, row.notifier), row)
    except ChannelRefused as refused:
        return alerts.show_channels(request, 422, problem=str(refused), problem_of=row.pk)
    return _to(access, "alert-channels")


@_change("alert-channels", Role.ADMIN)
def remove_channel(_: HttpRequest, access: Access, channel_id: int) -> HttpResponse:
    _mine(Channel, access, channel_id).delete()
    return _to(access, "alert-channels")


@_change("alert-channels", Role.ADMIN)
def try_channel(request: HttpRequest, access: Access, channel_id: int) -> HttpResponse:
    row = _mine(Channel, access, channel_id)
    try:
        channels.try_channel(row, time.time_ns())
    except SendFailed as failure:
        messages.error(request, f"The test to {row.name} failed: {failure}.")
    else:
        messages.info(request, f"The test has been sent to {row.name}.")
    return _to(access, "alert-channels")


@_change("alert-objectives")
def add_objective(request: HttpRequest, access: Access) -> HttpResponse:
    told = {key: value for key in ("name", "good", "at_most", "target", "window")
            if (value := request.POST.get(key, "").strip())}  # fmt: skip
    told |= {"where": alert_form.read_where(request.POST.get("where", ""))}  # type: ignore[dict-item]
    try:
        rules.save_slo(access.project, told)
    except RuleRefused as refused:
        return alerts.show_objectives(request, 422, problem=str(refused))
    return _to(access, "alert-objectives")


@_change("alert-objectives")
def remove_objective(request: HttpRequest, access: Access, slo_id: int) -> HttpResponse:
    try:
        rules.remove_slo(_mine(SloRow, access, slo_id))
    except RuleRefused as refused:
        return alerts.show_objectives(request, 422, problem=str(refused))
    return _to(access, "alert-objectives")


def _channel(request: HttpRequest, notifier: str) -> dict[str, Any]:
    sent = request.POST
    known = NOTIFIERS.get(notifier)
    told: dict[str, Any] = {"notifier": notifier, "name": sent.get("name", "")}
    told |= {field.name: sent.get(field.name, "") for field in (known.fields if known else ())}
    return told | {"is_usual": sent.get("is_usual", "yes") == "yes", "enabled": sent.get("enabled", "yes") == "yes"}


def _mine(model: type[models.Model], access: Access, key: Any) -> Any:
    row = model._default_manager.filter(project=access.project, pk=key).first()
    if row is None:
        raise Http404
    return row


def _to(access: Access, name: str, *ids: Any) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse(name, args=ids)}?{urlencode({'project': access.project.slug})}")


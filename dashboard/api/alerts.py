"""Alerts: what fires, rules, objectives, silences and channels, and all of them as code."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from django.db import models
from django.http import HttpRequest, HttpResponse
from ninja import Body, Router, Status

from dashboard.access import Access
from dashboard.alerts import as_code, channels, history, previews, rules, silencing
from dashboard.alerts.as_code import CodeRefused
from dashboard.alerts.channels import ChannelRefused
from dashboard.alerts.core.quiet import QuietRefused
from dashboard.alerts.core.written import RuleRefused, read_rule
from dashboard.alerts.models import AlertRule, Channel, Firing, Origin, Silence, SloRow
from dashboard.alerts.models.rule import slos_of
from dashboard.alerts.notifiers.registry import SendFailed
from dashboard.alerts.readings import Incomplete
from dashboard.api.alert_shapes import (
    AlertList,
    Applied,
    ChannelList,
    ChannelShape,
    ChannelTest,
    ChannelTold,
    FiringShape,
    NewSilence,
    ObjectiveList,
    ObjectiveShape,
    PreviewShape,
    RuleList,
    RuleShape,
    Seen,
    SilenceList,
    SilenceShape,
)
from dashboard.api.shapes import Problem
from dashboard.models import Role
from ingest.read.engines import BadSeries

router = Router(tags=["alerts"])
silences = Router(tags=["alerts"])
READ = {401: Problem, 404: Problem}
REFUSALS = {401: Problem, 403: Problem, 404: Problem, 422: Problem}
DAY_NS = 86_400 * 10**9
REFUSED = (RuleRefused, QuietRefused, ChannelRefused, CodeRefused, BadSeries, Incomplete)


@router.get("", response={200: AlertList, 422: Problem, **READ}, summary="What fires, or fired in a range of time")
def alerts(request: HttpRequest, from_unix_ns: int | None = None, to_unix_ns: int | None = None) -> Any:
    """Without a range, what fires now. With one, all that fired at any time in it, the latest first."""
    scope = _access(request).scope
    if from_unix_ns is None and to_unix_ns is None:
        return {"alerts": history.read_firing_now(scope)}
    to_ns = time.time_ns() if to_unix_ns is None else to_unix_ns
    from_ns = to_ns - 7 * DAY_NS if from_unix_ns is None else from_unix_ns
    if not -(2**63) <= from_ns < to_ns < 2**63:
        return Status(422, {"detail": "from_unix_ns and to_unix_ns: expected a range that ends after it begins"})
    return {"alerts": history.read_firings(scope, from_ns, to_ns)}


@router.get("/firings/{uuid:firing_id}", response={200: FiringShape, **READ}, summary="One time that an alert fired")
def firing(request: HttpRequest, firing_id: UUID) -> Any:
    found = _mine(Firing, request, firing_id)
    return Status(200, history.row_of(found)) if found else _none("alert")


@router.patch("/firings/{uuid:firing_id}", response={200: FiringShape, **REFUSALS}, summary="Acknowledge an alert")
def see(request: HttpRequest, firing_id: UUID, told: Seen) -> Any:
    access = _editor(request)
    found = _mine(Firing, request, firing_id)
    if found is None:
        return _none("alert")
    if told.acknowledged:
        silencing.acknowledge(found, access.who, time.time_ns())
        found.refresh_from_db()
    return Status(200, history.row_of(found))


@router.get("/rules", response={200: RuleList, **READ}, summary="Rules, and how they stand")
def list_rules(request: HttpRequest) -> Any:
    found = AlertRule.objects.filter(project=_access(request).project).order_by("name")
    return {"rules": [_rule(row) for row in found]}


@router.post("/rules", response={201: RuleShape, **REFUSALS}, summary="Make a rule")
def add_rule(request: HttpRequest, told: Body[dict[str, Any]]) -> Any:
    access = _editor(request)
    return Status(201, _rule(rules.save_rule(access.project, told, time.time_ns(), origin=Origin.API)))


@router.post("/rules/preview", response={200: PreviewShape, **REFUSALS}, summary="When a rule would have fired")
def preview(request: HttpRequest, told: Body[dict[str, Any]]) -> Any:
    """On the data of the last seven days. Nothing is kept."""
    access = _access(request)
    slos = slos_of(access.project.pk)
    wanted = read_rule({"name": "This rule"} | told, slos)
    return Status(
        200, previews.draw(access.project, wanted, slos.get(getattr(wanted.condition, "slo", "")), time.time_ns())
    )


@router.get("/rules/{int:rule_id}", response={200: RuleShape, **READ}, summary="One rule")
def rule(request: HttpRequest, rule_id: int) -> Any:
    row = _mine(AlertRule, request, rule_id)
    return Status(200, _rule(row)) if row else _none("rule")


@router.put("/rules/{int:rule_id}", response={200: RuleShape, **REFUSALS}, summary="Change a rule")
def change_rule(request: HttpRequest, rule_id: int, told: Body[dict[str, Any]]) -> Any:
    """The rule as a whole: what is left out is usual again."""
    access = _editor(request)
    row = _mine(AlertRule, request, rule_id)
    if row is None:
        return _none("rule")
    return Status(200, _rule(rules.save_rule(access.project, told, time.time_ns(), row=row, origin=Origin.API)))


@router.delete("/rules/{int:rule_id}", response={204: None, **REFUSALS}, summary="Take a rule away")
def remove_rule(request: HttpRequest, rule_id: int) -> Any:
    """What it has firing is resolved, and its history stays."""
    _editor(request)
    row = _mine(AlertRule, request, rule_id)
    if row is None:
        return _none("rule")
    rules.remove_rule(row, time.time_ns())
    return Status(204, None)


@router.get("/objectives", response={200: ObjectiveList, **READ}, summary="Objectives, and how they are met")
def list_objectives(request: HttpRequest) -> Any:
    found = SloRow.objects.filter(project=_access(request).project).order_by("name")
    return {"objectives": [_objective(request, row) for row in found]}


@router.post("/objectives", response={201: ObjectiveShape, **REFUSALS}, summary="Make an objective")
def add_objective(request: HttpRequest, told: Body[dict[str, Any]]) -> Any:
    access = _editor(request)
    return Status(201, _objective(request, rules.save_slo(access.project, told, origin=Origin.API)))


@router.get("/objectives/{int:slo_id}", response={200: ObjectiveShape, **READ}, summary="One objective")
def objective(request: HttpRequest, slo_id: int) -> Any:
    row = _mine(SloRow, request, slo_id)
    return Status(200, _objective(request, row)) if row else _none("objective")


@router.put("/objectives/{int:slo_id}", response={200: ObjectiveShape, **REFUSALS}, summary="Change an objective")
def change_objective(request: HttpRequest, slo_id: int, told: Body[dict[str, Any]]) -> Any:
    access = _editor(request)
    row = _mine(SloRow, request, slo_id)
    if row is None:
        return _none("objective")
    return Status(200, _objective(request, rules.save_slo(access.project, told, row=row, origin=Origin.API)))


@router.delete("/objectives/{int:slo_id}", response={204: None, **REFUSALS}, summary="Take an objective away")
def remove_objective(request: HttpRequest, slo_id: int) -> Any:
    _editor(request)
    row = _mine(SloRow, request, slo_id)
    if row is None:
        return _none("objective")
    rules.remove_slo(row)
    return Status(204, None)


@router.get("/channels", response={200: ChannelList, **READ}, summary="Where messages go")
def list_channels(request: HttpRequest) -> Any:
    found = Channel.objects.filter(project=_access(request).project).order_by("name")
    return {"channels": [_channel(row) for row in found]}


@router.post("/channels", response={201: ChannelShape, **REFUSALS}, summary="Make a channel")
def add_channel(request: HttpRequest, told: ChannelTold) -> Any:
    return Status(201, _channel(channels.save_channel(_admin(request).project, told.told())))


@router.post("/channels/test", response={204: None, 502: Problem, **REFUSALS}, summary="Send a test")
def try_channel(request: HttpRequest, told: ChannelTest) -> Any:
    """204 where the receiver took it, else 502 with what it said."""
    _admin(request)
    row = _mine(Channel, request, told.channel_id)
    if row is None:
        return _none("channel")
    try:
        channels.try_channel(row, time.time_ns())
    except SendFailed as failure:
        return Status(502, {"detail": str(failure)})
    return Status(204, None)


@router.get("/channels/{int:channel_id}", response={200: ChannelShape, **READ}, summary="One channel")
def channel(request: HttpRequest, channel_id: int) -> Any:
    row = _mine(Channel, request, channel_id)
    return Status(200, _channel(row)) if row else _none("channel")


@router.patch("/channels/{int:channel_id}", response={200: ChannelShape, **REFUSALS}, summary="Change a channel")
def change_channel(request: HttpRequest, channel_id: int, told: ChannelTold) -> Any:
    access = _admin(request)
    row = _mine(Channel, request, channel_id)
    if row is None:
        return _none("channel")
    given = told.told()
    given.pop("notifier", None)
    return Status(200, _channel(channels.save_channel(access.project, given, row)))


@router.delete("/channels/{int:channel_id}", response={204: None, **REFUSALS}, summary="Take a channel away")
def remove_channel(request: HttpRequest, channel_id: int) -> Any:
    _admin(request)
    row = _mine(Channel, request, channel_id)
    if row is None:
        return _none("channel")
    row.delete()
    return Status(204, None)


@router.get("/code", response=READ, summary="Objectives, rules and mute times as YAML")
def code(request: HttpRequest) -> HttpResponse:
    return HttpResponse(as_code.export(_access(request).project), content_type="application/yaml; charset=utf-8")


@router.put("/code", response={200: Applied, **REFUSALS}, summary="Make rules as a YAML file says")
def put_code(request: HttpRequest) -> Any:
    """All or none. The same file again changes nothing; what an earlier one brought and this one does not list goes."""
    access = _editor(request)
    return Status(200, as_code.apply(access.project, request.body.decode("utf-8", "replace"), time.time_ns()))


@silences.get("", response={200: SilenceList, **READ}, summary="Silences and mute times that hold now or later")
def list_silences(request: HttpRequest) -> Any:
    now_ns = time.time_ns()
    found = silencing.open_silences(_access(request).project, now_ns)
    return {"silences": [_silence(row, now_ns) for row in found]}


@silences.post("", response={201: SilenceShape, **REFUSALS}, summary="Silence alerts")
def add_silence(request: HttpRequest, told: NewSilence) -> Any:
    access, now_ns = _editor(request), time.time_ns()
    return Status(201, _silence(silencing.add_silence(access.project, told.told(), access.who, now_ns), now_ns))


@silences.get("/{int:silence_id}", response={200: SilenceShape, **READ}, summary="One silence, also an ended one")
def silence(request: HttpRequest, silence_id: int) -> Any:
    row = _mine(Silence, request, silence_id)
    return Status(200, _silence(row, time.time_ns())) if row else _none("silence")


@silences.delete("/{int:silence_id}", response={204: None, **REFUSALS}, summary="End a silence")
def end_silence(request: HttpRequest, silence_id: int) -> Any:
    _editor(request)
    row = _mine(Silence, request, silence_id)
    if row is None:
        return _none("silence")
    silencing.end_silence(row, time.time_ns())
    return Status(204, None)


def _rule(row: AlertRule) -> dict[str, Any]:
    return {
        "id": row.pk, "rule": row.body, "enabled": row.enabled, "origin": row.origin,
        "evaluated_unix_ns": str(row.evaluated_unix_ns), "error": row.error or None,
        "alerts": list(row.alerts.order_by("fingerprint")),
    }  # fmt: skip


def _objective(request: HttpRequest, row: SloRow) -> dict[str, Any]:
    now_ns, slo = time.time_ns(), row.value
    told = history.slo_result(_access(request).scope, slo, now_ns - slo.window_days * DAY_NS, now_ns)
    return {"id": row.pk, "objective": row.body, "total": told.total, "good": told.good, "share": told.share,
            "budget_left": told.budget_left}  # fmt: skip


def _channel(row: Channel) -> dict[str, Any]:
    latest = row.notifications.order_by("-made_unix_ns").first()
    return {
        "id": row.pk, "name": row.name, "notifier": row.notifier, "options": row.options,
        "has_secret": row.secret is not None, "is_usual": row.is_usual, "enabled": row.enabled,
        "sent_unix_ns": str(latest.sent_unix_ns) if latest and latest.sent_unix_ns else None,
        "error": latest.error or None if latest else None,
    }  # fmt: skip


def _silence(row: Silence, now_ns: int) -> dict[str, Any]:
    return {
        "id": row.pk, "name": row.name, "matchers": row.matchers, "weekly": row.weekly, "comment": row.comment,
        "from_unix_ns": None if row.from_unix_ns is None else str(row.from_unix_ns), "made_by": row.made_by,
        "to_unix_ns": None if row.to_unix_ns is None else str(row.to_unix_ns), "holds": row.value.holds(now_ns),
    }  # fmt: skip


def _mine(model: type[models.Model], request: HttpRequest, key: Any) -> Any:
    if isinstance(key, int) and key >= 1 << 63:
        return None
    return model._default_manager.filter(project=_access(request).project, pk=key).first()


def _none(what: str) -> Status[Any]:
    return Status(404, {"detail": f"no such {what}"})


def _editor(request: HttpRequest) -> Access:
    access = _access(request)
    access.require(Role.EDITOR)
    return access


def _admin(request: HttpRequest) -> Access:
    access = _access(request)
    access.require(Role.ADMIN)
    return access


def _access(request: HttpRequest) -> Access:
    return request.access  # type: ignore[attr-defined,no-any-return]

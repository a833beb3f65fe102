"""One transaction writes how alerts stand, what fired or was resolved, and the events that tell of it.

Ids follow from what they stand for, so that the same change never gets a second one.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from dashboard.alerts.core.labels import bundle_key
from dashboard.alerts.core.rule import SECOND_NS, Rule
from dashboard.alerts.core.standing import End, Fired, Resolved, Standing
from dashboard.alerts.core.verdict import Verdict
from dashboard.alerts.core.words import END_WORDS, how_bad, title
from dashboard.alerts.core.written import condition_word
from dashboard.alerts.models import Alert, AlertEvent, AlertRule, Channel, Delivery, Firing, Kind

NAMESPACE = uuid.UUID("6f1d1c7e-5a0b-4a52-9a83-0d9f7c2e4b11")
ALERT_COLUMNS = [
    "group", "is_other", "labels", "state", "since_unix_ns", "seen_unix_ns", "breached_unix_ns", "last_breach_unix_ns",
    "untold_unix_ns", "cause", "value", "limit", "samples", "why", "firing",
]  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Judged:
    """An alert after one or more instants. ``moves`` are in order, each with the verdict that made it."""

    key: tuple[str | None, bool]
    fingerprint: str
    labels: dict[str, str]
    standing: Standing
    verdict: Verdict
    worst: float | None
    moves: list[tuple[Fired | Resolved, Verdict]]
    forget: bool = False


def store(row: AlertRule, rule: Rule, lease_ns: int, judged: Sequence[Judged], now_ns: int, **progress: int) -> bool:
    """Write all of it, or nothing where the rule was changed, taken away or claimed by another meanwhile.
    ``progress`` are the rule's own columns."""
    with transaction.atomic():
        mine = AlertRule.objects.select_for_update().filter(
            pk=row.pk, revision=row.revision, claimed_until_unix_ns=lease_ns
        ).first()  # fmt: skip
        if mine is None:
            return False
        alerts = {alert.fingerprint: alert for alert in Alert.objects.filter(rule=row).select_related("firing")}
        kept = [_move(row, rule, alerts.get(one.fingerprint), one, now_ns) for one in judged]
        Alert.objects.bulk_create(
            (alert for alert, one in zip(kept, judged, strict=True) if not one.forget),
            update_conflicts=True, unique_fields=["rule", "fingerprint"], update_fields=ALERT_COLUMNS,
        )  # fmt: skip
        Alert.objects.filter(rule=row, fingerprint__in=[one.fingerprint for one in judged if one.forget]).delete()
        errors = {one.verdict.why for one in judged if one.verdict.outcome == "error"}
        AlertRule.objects.filter(pk=row.pk).update(
            claimed_until_unix_ns=0, error=min(errors, default="")[:400], **progress
        )  # fmt: skip
    return True


def _move(row: AlertRule, rule: Rule, alert: Alert | None, one: Judged, now_ns: int) -> Alert:
    """The alert as it stands now; its firings are written."""
    if alert is None:
        alert = Alert(rule=row, project_id=row.project_id, fingerprint=one.fingerprint)
    alert.group, alert.is_other = one.key
    alert.labels = one.labels
    for move, verdict in one.moves:
        if isinstance(move, Fired):
            alert.firing = fire(row, rule, one, move, verdict, now_ns)
        elif alert.firing is not None:
            resolve(alert.firing, move.end, move.at_ns, now_ns)
            alert.firing = None
    firing = alert.firing
    if firing is not None and one.worst is not None and _is_worse(rule, one.worst, firing.worst):
        firing.worst = one.worst
        firing.save(update_fields=["worst"])
    alert.stand(one.standing)
    alert.value, alert.limit, alert.samples = one.verdict.value, one.verdict.limit, one.verdict.samples
    alert.why = one.verdict.why[:400]
    return alert


def _is_worse(rule: Rule, value: float, than: float | None) -> bool:
    above = getattr(rule.condition, "above", True)
    return than is None or (value > than if above else value < than)


def fire(row: AlertRule, rule: Rule, one: Judged, move: Fired, verdict: Verdict, now_ns: int) -> Firing:
    """A new firing; told of by an event, unless it is resolved again in what was missed."""
    firing = Firing.objects.create(
        id=uuid.uuid5(NAMESPACE, f"{row.pk} {one.fingerprint} {move.at_ns}"), project_id=row.project_id, rule=row,
        rule_name=rule.name, fingerprint=one.fingerprint, labels=one.labels, severity=rule.severity.value,
        measure=rule.measure, stat=rule.stat, condition=condition_word(rule), cause=move.cause.value,
        title=title(rule, one.labels, verdict, move.cause), since_unix_ns=move.since_ns, fired_unix_ns=move.at_ns,
        value=verdict.value, worst=verdict.value, limit=verdict.limit, samples=verdict.samples,
        window_s=rule.longest_s, was_missed=_is_over(one, move),
    )  # fmt: skip
    if not firing.was_missed:
        emit(firing, Kind.FIRED, move.at_ns, now_ns, rule, how_bad=how_bad(rule, verdict))
    return firing


def _is_over(one: Judged, move: Fired) -> bool:
    """Whether it was resolved in the same pass: then nobody could have been told in time."""
    return any(isinstance(later, Resolved) and later.at_ns > move.at_ns for later, _ in one.moves)


def resolve(firing: Firing, end: End, at_ns: int, now_ns: int, rule: Rule | None = None) -> None:
    firing.resolved_unix_ns, firing.end = at_ns, end.value
    firing.save(update_fields=["resolved_unix_ns", "end"])
    if not firing.was_missed:
        emit(firing, Kind.RESOLVED, at_ns, now_ns, rule, how_bad=f"{END_WORDS[end]}.")


def emit(firing: Firing, kind: Kind, at_ns: int, now_ns: int, rule: Rule | None, **facts: str) -> AlertEvent:
    """An event and a delivery for each channel; what was resolved goes where its firing went."""
    number = firing.repeats if kind == Kind.REPEATED else 0
    event = AlertEvent.objects.create(
        id=uuid.uuid5(firing.id, f"{kind} {number}"), project_id=firing.project_id, firing=firing, kind=kind,
        at_unix_ns=at_ns, body={"note": rule.note if rule else "", **facts},
    )  # fmt: skip
    bundle_by = rule.bundle_by if rule else ("alertname",)
    wait_ns = (rule.wait_s if rule else 0) * SECOND_NS
    Delivery.objects.bulk_create(
        Delivery(
            event=event, channel_id=channel_id, bundle_key=bundle_key(firing.labels, bundle_by),
            due_unix_ns=now_ns + wait_ns,
        )
        for channel_id in _channels(firing, kind, rule)
    )  # fmt: skip
    return event


def _channels(firing: Firing, kind: Kind, rule: Rule | None) -> Iterable[int]:
    if kind == Kind.RESOLVED:
        told = Delivery.objects.filter(event__firing=firing).values_list("channel_id", flat=True)
        return sorted(set(told))
    channels = Channel.objects.filter(project_id=firing.project_id, enabled=True)
    chosen = Q(name__in=rule.channels) if rule and rule.channels else Q(is_usual=True)
    return channels.filter(chosen).order_by("pk").values_list("pk", flat=True)


def end_firings(row: AlertRule, end: End, now_ns: int) -> None:
    """Resolve all that a rule has firing, and forget how its alerts stand. Within the caller's transaction."""
    for firing in Firing.objects.filter(rule=row, resolved_unix_ns=None):
        resolve(firing, end, now_ns, now_ns)
    Alert.objects.filter(rule=row).delete()

"""From events to messages: what is due and belongs together becomes one notification, whose words are fixed then.

Here it is decided who is not told, and why; the reason is kept.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Q

from dashboard.alerts.composing import compose
from dashboard.alerts.core.quiet import Quiet, silenced_by
from dashboard.alerts.core.rule import SECOND_NS
from dashboard.alerts.core.written import RuleRefused
from dashboard.alerts.models import Channel, Delivery, Firing, Kind, Notification, Quieted, Silence
from dashboard.alerts.storing import NAMESPACE, emit

AT_ONCE = 500


def bundle_due(now_ns: int) -> int:
    """Make notifications of all deliveries that are due, and of those that belong with them; returns how many."""
    made = 0
    with transaction.atomic():
        waiting = Delivery.objects.select_for_update(skip_locked=True, of=("self",)).filter(
            notification=None, quieted=None
        )  # fmt: skip
        keys = set(waiting.filter(due_unix_ns__lte=now_ns).values_list("channel_id", "bundle_key")[:AT_ONCE])
        for channel_id, key in sorted(keys):
            found = waiting.filter(channel_id=channel_id, bundle_key=key).select_related("event__firing__project")
            made += _bundle(list(found.order_by("event__at_unix_ns", "pk")), channel_id, now_ns)
    return made


def _bundle(deliveries: Sequence[Delivery], channel_id: int, now_ns: int) -> int:
    channel = Channel.objects.get(pk=channel_id)
    quiets = quiets_of(channel.project_id)
    told = []
    for delivery in deliveries:
        if (reason := _quieted(delivery, channel, quiets, now_ns)) is None:
            told.append(delivery)
        else:
            delivery.quieted = reason
            delivery.save(update_fields=["quieted", "silence_id"])
    if not told:
        return 0
    events = [delivery.event for delivery in told]
    notification = Notification.objects.create(
        id=uuid.uuid5(NAMESPACE, f"{channel_id} {' '.join(sorted(str(event.pk) for event in events))}"),
        project_id=channel.project_id, channel=channel, body=compose(events, now_ns), made_unix_ns=now_ns,
        due_unix_ns=now_ns,
    )  # fmt: skip
    Delivery.objects.filter(pk__in=[delivery.pk for delivery in told]).update(notification=notification)
    Firing.objects.filter(pk__in={event.firing_id for event in events}).update(told_unix_ns=now_ns)
    return 1


def _quieted(delivery: Delivery, channel: Channel, quiets: Sequence[Quiet], now_ns: int) -> str | None:
    """Why this is not told; None where it is. Who heard that it fires hears that it ended, whatever is silenced."""
    if not channel.enabled:
        return Quieted.CHANNEL_OFF
    event = delivery.event
    if event.kind == Kind.RESOLVED:
        before = Delivery.objects.filter(event__firing=event.firing_id, channel=channel).exclude(pk=delivery.pk)
        heard = before.filter(Q(notification__isnull=False) | Q(quieted=None)).exclude(event__kind=Kind.RESOLVED)
        return None if heard.exists() else Quieted.NOT_TOLD_BEFORE
    silence = silenced_by(quiets, event.firing.labels, now_ns)
    if silence is None:
        return None
    delivery.silence_id = silence.id
    return Quieted.SILENCED


def remind(now_ns: int) -> int:
    """Tell again of what still fires: after the rule's repeat interval, unless somebody has seen it; and for the first
    time of what was silenced when it began. Returns of how many."""
    reminded = 0
    open_firings = Firing.objects.filter(resolved_unix_ns=None, acknowledged_unix_ns=None, was_missed=False)
    quiets: dict[int, list[Quiet]] = defaultdict(list)
    for firing in open_firings.select_related("rule", "project"):
        if firing.rule is None:
            continue
        try:
            rule = firing.rule.value()
        except RuleRefused:
            continue
        if firing.project_id not in quiets:
            quiets[firing.project_id] = quiets_of(firing.project_id)
        if not _is_due(firing, rule.repeat_s * SECOND_NS, now_ns):
            continue
        if silenced_by(quiets[firing.project_id], firing.labels, now_ns) is not None:
            continue
        with transaction.atomic():
            mine = Firing.objects.select_for_update().filter(
                pk=firing.pk, repeats=firing.repeats, resolved_unix_ns=None, told_unix_ns=firing.told_unix_ns
            )  # fmt: skip
            if (locked := mine.first()) is not None:
                locked.repeats += 1
                locked.told_unix_ns = now_ns
                locked.save(update_fields=["repeats", "told_unix_ns"])
                emit(locked, Kind.REPEATED, now_ns, now_ns, rule)
                reminded += 1
    return reminded


def _is_due(firing: Firing, repeat_ns: int, now_ns: int) -> bool:
    if firing.told_unix_ns:
        return now_ns - firing.told_unix_ns >= repeat_ns
    # Never told: only if a silence was why.
    return Delivery.objects.filter(event__firing=firing, quieted=Quieted.SILENCED).exists()


def quiets_of(project_id: int) -> list[Quiet]:
    return [silence.value for silence in Silence.objects.filter(project_id=project_id).order_by("pk")]

"""The outbox is sent: claimed by lease, tried until it is taken or cannot be, always under the same id.

A worker that dies between sending and noting it leaves the notification claimed; when the lease is over it is sent
again, and its id tells the receiver that it knows it already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from dashboard.alerts.models import Channel, Notification
from dashboard.alerts.notifiers import NOTIFIERS
from dashboard.alerts.notifiers.registry import Message, SendFailed, Target
from ingest.engines.credentials import CredentialsRefused, decrypt
from ingest.engines.targets import policy
from ingest.outbound.posting import Posted, post

log = logging.getLogger(__name__)

NS = 10**9
LEASE_NS = 60 * NS
TIMEOUT_S = 10.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 10, 1800
GIVE_UP_NS = 24 * 3600 * NS
AT_ONCE = 20

# Locked rows are found again by their place: see ingest/leases.py.
CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT ctid AS place FROM alerts_notification
        WHERE sent_unix_ns IS NULL AND given_up_unix_ns IS NULL AND due_unix_ns <= %(now_ns)s
          AND NOT claimed_until_unix_ns BETWEEN %(now_ns)s AND %(never_ns)s
        ORDER BY due_unix_ns, id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE alerts_notification AS mine SET claimed_until_unix_ns = %(until_ns)s, tries = tries + 1
    WHERE mine.ctid = ANY (ARRAY(SELECT place FROM due)) RETURNING mine.id
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of sending: None is success."""

    notification: Notification
    failure: SendFailed | None


def send_due(now_ns: int, limit: int = AT_ONCE) -> list[Tried]:
    """Send what is due, side by side, and note what became of each. ``now_ns`` is the same clock for all workers."""
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM,
            {"now_ns": now_ns, "until_ns": now_ns + LEASE_NS, "never_ns": now_ns + 2 * LEASE_NS, "limit": limit},
        )
        ids = [row[0] for row in cursor.fetchall()]
    claimed = list(Notification.objects.filter(pk__in=ids).select_related("channel").order_by("made_unix_ns", "pk"))
    if not claimed:
        return []
    tried = asyncio.run(_send_all(claimed, now_ns))
    for one in tried:
        note(one, now_ns)
    return tried


async def _send_all(claimed: list[Notification], now_ns: int) -> list[Tried]:
    return list(await asyncio.gather(*(_try(one, now_ns) for one in claimed)))


async def _try(notification: Notification, now_ns: int) -> Tried:
    message = Message(id=str(notification.pk), body=notification.body, now_ns=now_ns)
    try:
        await send(notification.channel, message)
    except SendFailed as failure:
        return Tried(notification, failure)
    return Tried(notification, None)


async def send(channel: Channel, message: Message) -> None:
    """Raises SendFailed."""
    notifier = NOTIFIERS.get(channel.notifier)
    if notifier is None:
        raise SendFailed(f"there is no notifier {channel.notifier!r} any more", permanent=True)
    try:
        await notifier.send(message, target_of(channel), posting)
    except SendFailed:
        raise
    except Exception as error:  # a mistake of ours, and nobody else's message should wait for it
        log.exception("a notification could not be made for %s", channel)
        raise SendFailed(f"{type(error).__name__}: {error}"[:300]) from None


def target_of(channel: Channel) -> Target:
    """Raises SendFailed."""
    secret = ""
    if channel.secret is not None:
        try:
            secret = decrypt(bytes(channel.secret), settings.SIXSTAGE_ENCRYPTION_KEY).secret
        except CredentialsRefused as error:
            raise SendFailed(str(error), permanent=True) from None
    return Target(options=channel.options, secret=secret)


async def posting(url: str, body: bytes, headers: Mapping[str, str]) -> Posted:
    return await post(policy(), url, body, headers=headers, timeout_s=TIMEOUT_S)


def note(tried: Tried, now_ns: int) -> None:
    """Only while the claim is still its own: another may have sent it meanwhile."""
    notification, failure = tried.notification, tried.failure
    mine = Notification.objects.filter(pk=notification.pk, claimed_until_unix_ns=notification.claimed_until_unix_ns)
    if failure is None:
        mine.update(sent_unix_ns=now_ns, error="", claimed_until_unix_ns=0)
        return
    given_up = failure.permanent or now_ns - notification.made_unix_ns > GIVE_UP_NS
    mine.update(
        error=str(failure)[:400], claimed_until_unix_ns=0, given_up_unix_ns=now_ns if given_up else None,
        due_unix_ns=now_ns + pause_ns(notification.tries, failure.after_s),
    )  # fmt: skip
    log.warning("a notification to %s failed, %s: %s", notification.channel, "for good" if given_up else "for now",
                failure)  # fmt: skip


def pause_ns(tries: int, after_s: float | None) -> int:
    """Until the next try: twice as long each time, and no sooner than the receiver asked."""
    usual_s = min(FIRST_PAUSE_S * 2 ** min(tries - 1, 20), LONGEST_PAUSE_S)
    return round(max(usual_s, after_s or 0) * NS)

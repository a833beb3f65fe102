"""Channels made, changed, tried and taken away; their secrets are kept as those of engines are."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import IntegrityError, transaction

from dashboard.alerts.core.written import LONGEST_NAME
from dashboard.alerts.models import Channel
from dashboard.alerts.notifiers import NOTIFIERS
from dashboard.alerts.notifiers.email import read_recipients
from dashboard.alerts.notifiers.registry import Field, Message, Notifier, SendFailed
from dashboard.alerts.sending import send
from ingest.engines.credentials import CredentialsRefused, Scheme, encrypt, read_credentials
from ingest.engines.targets import policy
from ingest.models import Project
from ingest.outbound.addresses import RefusedAddress, check_url

KNOWN = {"name", "notifier", "is_usual", "enabled"}
MOST_CHANNELS, LONGEST = 100, 2_000


class ChannelRefused(ValueError):
    """A channel may not be so; the text says why, for people."""


def save_channel(project: Project, told: Mapping[str, Any], row: Channel | None = None) -> Channel:
    """Make a channel, or change ``row``: what is not told stays, and so does a secret that is empty."""
    if row is None:
        row = Channel(project=project, notifier=str(told.get("notifier", "")))
        if Channel.objects.filter(project=project).count() >= MOST_CHANNELS:
            raise ChannelRefused(f"a project has at most {MOST_CHANNELS} channels")
    notifier = NOTIFIERS.get(row.notifier)
    if notifier is None:
        raise ChannelRefused(f"the kind of a channel is one of {', '.join(NOTIFIERS)}")
    if unknown := sorted(set(told) - KNOWN - {field.name for field in notifier.fields}):
        raise ChannelRefused(f"{notifier.label} has no {', '.join(unknown)[:100]}")
    row.name = _name(told.get("name", row.name))
    row.is_usual = bool(told.get("is_usual", row.is_usual))
    row.enabled = bool(told.get("enabled", row.enabled))
    row.options = _options(notifier, told, row.options)
    if secret := str(told.get("secret") or "").strip():
        row.secret = _secret(notifier, secret)
    if notifier.secret and notifier.secret.required and row.secret is None:
        raise ChannelRefused(f"{notifier.label} needs {notifier.secret.label}")
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        raise ChannelRefused(f"there is a channel called {row.name} already") from None
    return row


def try_channel(channel: Channel, now_ns: int) -> None:
    """Send a message that says it is a test. Raises SendFailed."""
    url = f"{settings.CONFIG.public_url}/alerts?{urlencode({'project': channel.project.slug})}"
    message = Message(id=str(uuid.uuid4()), body=_test_body(channel, now_ns, url), now_ns=now_ns)
    asyncio.run(send(channel, message))


def _options(notifier: Notifier, told: Mapping[str, Any], before: Mapping[str, str]) -> dict[str, str]:
    options = {}
    for field in notifier.fields:
        if field.secret:
            continue
        value = str(told.get(field.name, before.get(field.name, "")) or "").strip()
        if not value and field.required:
            raise ChannelRefused(f"{notifier.label} needs {field.label}")
        if value:
            options[field.name] = _checked(notifier, field, value)
    return options


def _checked(notifier: Notifier, field: Field, value: str) -> str:
    if len(value) > LONGEST or not value.isprintable():
        raise ChannelRefused(f"{field.label} is at most {LONGEST} visible characters")
    try:
        if field.is_url:
            return check_url(value, policy()).geturl()
        if notifier.name == "email" and field.name == "to":
            return ", ".join(read_recipients(value))
    except (RefusedAddress, SendFailed) as error:
        raise ChannelRefused(str(error)) from None
    return value


def _secret(notifier: Notifier, secret: str) -> bytes:
    if notifier.secret is None:
        raise ChannelRefused(f"{notifier.label} has no secret")
    try:
        if notifier.secret.is_url:
            check_url(secret, policy())
        return encrypt(read_credentials(Scheme.BEARER, secret), settings.SIXSTAGE_ENCRYPTION_KEY)
    except (RefusedAddress, CredentialsRefused) as error:
        raise ChannelRefused(str(error)) from None


def _name(name: Any) -> str:
    name = str(name).strip()
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable() or "," in name:
        raise ChannelRefused(f"a name is 1 to {LONGEST_NAME} visible characters without a comma")
    return name


def _test_body(channel: Channel, now_ns: int, url: str) -> dict[str, Any]:
    slug = channel.project.slug
    title = f"A test from {slug}: if you read this, {channel.name} works"
    alert = {
        "event_id": "", "firing_id": f"test-{channel.pk}", "kind": "fired", "status": "firing", "rule": "Test",
        "severity": "info", "labels": {"alertname": "Test", "project": slug, "severity": "info"},
        "fingerprint": "", "title": title, "heading": f"Test: {title}", "sentences": ["Nothing is wrong."],
        "stage": None, "since_unix_ns": str(now_ns), "fired_unix_ns": str(now_ns), "resolved_unix_ns": None,
        "value": None, "limit": None, "samples": 0, "note": "", "links": {"view": url, "alert": url}, "slowest": [],
    }  # fmt: skip
    return {"project": slug, "title": f"Test: {title}", "alerts": [alert], "events": [],
            "thread": f"test-{channel.pk}", "made_unix_ns": str(now_ns), "url": url}  # fmt: skip

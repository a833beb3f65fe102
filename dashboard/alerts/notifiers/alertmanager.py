"""A Prometheus Alertmanager, which groups, routes and silences by itself (API v2)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from dashboard.alerts.notifiers.registry import Field, Message, Post, Target, deliver, notifier

FIRES_ON_S = 30 * 86_400  # an Alertmanager resolves what it does not hear of again; we tell it ourselves


@notifier(
    "alertmanager", label="Alertmanager",
    fields=(
        Field(name="url", label="URL", hint="such as http://alertmanager:9093", is_url=True),
        Field(name="secret", label="Bearer token", secret=True, required=False),
    ),
)  # fmt: skip
async def send(message: Message, target: Target, post: Post) -> None:
    """Alerts with their labels; sentences as annotations `summary` and `description`."""
    headers = {"content-type": "application/json", "x-sixstage-delivery": message.id}
    if target.secret:
        headers["authorization"] = f"Bearer {target.secret}"
    body = json.dumps([_alert(alert, message.now_ns) for alert in message.alerts], ensure_ascii=False).encode()
    await deliver(post, target.options["url"].rstrip("/") + "/api/v2/alerts", body, headers)


def _alert(alert: dict[str, Any], now_ns: int) -> dict[str, Any]:
    ended = alert["resolved_unix_ns"]
    ends_s = int(ended) // 10**9 if ended else now_ns // 10**9 + FIRES_ON_S
    annotations = {"summary": alert["title"], "description": "\n".join(alert["sentences"])}
    if alert["note"]:
        annotations["note"] = alert["note"]
    return {
        "labels": alert["labels"], "annotations": annotations, "generatorURL": alert["links"]["alert"],
        "startsAt": _time(int(alert["fired_unix_ns"]) // 10**9), "endsAt": _time(ends_s),
    }  # fmt: skip


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

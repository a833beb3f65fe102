"""PagerDuty's Events API v2: an incident for each alert, triggered and resolved under the same key."""

from __future__ import annotations

import json
from typing import Any

from dashboard.alerts.notifiers.registry import Field, Message, Post, Target, deliver, notifier

URL = "https://events.pagerduty.com/v2/enqueue"
SEVERITIES = {"critical": "critical", "warning": "warning", "info": "info"}
SUMMARY_MOST = 1_024


@notifier(
    "pagerduty", label="PagerDuty",
    fields=(
        Field(name="secret", label="Integration key", secret=True, hint="of an Events API v2 integration"),
        Field(name="url", label="URL", required=False, is_url=True, hint=f"else {URL}"),
    ),
)  # fmt: skip
async def send(message: Message, target: Target, post: Post) -> None:
    """A trigger or a resolve for each alert, whose `dedup_key` is that of its firing."""
    url = target.options.get("url") or URL
    for alert in message.alerts:
        body = json.dumps(_event(alert, target.secret), ensure_ascii=False).encode()
        await deliver(post, url, body, {"content-type": "application/json", "x-sixstage-delivery": message.id})


def _event(alert: dict[str, Any], key: str) -> dict[str, Any]:
    event: dict[str, Any] = {"routing_key": key, "dedup_key": f"sixstage-{alert['firing_id']}"}
    if alert["status"] == "resolved":
        return {**event, "event_action": "resolve"}
    return {
        **event,
        "event_action": "trigger",
        "client": "Sixstage",
        "client_url": alert["links"]["alert"],
        "links": [{"href": alert["links"]["view"], "text": "The runs of this time"}]
        + [{"href": run["url"], "text": run["words"]} for run in alert["slowest"]],
        "payload": {
            "summary": alert["title"][:SUMMARY_MOST],
            "source": alert["labels"].get("service") or alert["labels"]["project"],
            "severity": SEVERITIES[alert["severity"]],
            "class": alert["rule"],
            "custom_details": {"what": " ".join(alert["sentences"]), "labels": alert["labels"], "note": alert["note"]},
        },
    }

"""Slack's incoming webhooks, and those of Mattermost, Rocket.Chat and others that take the same JSON."""

from __future__ import annotations

import json
from typing import Any

from dashboard.alerts.notifiers.registry import Field, Message, Post, Target, deliver, notifier

COLOURS = {"critical": "#c4302b", "warning": "#b7791f", "info": "#6b7480", "resolved": "#2f855a"}
LONGEST = 2_900
ALERTS_MOST = 20


@notifier(
    "slack", label="Slack-compatible webhook",
    fields=(Field(name="secret", label="Webhook URL", secret=True, is_url=True,
                  hint="who knows this URL can post, so it is kept as a secret"),),
)  # fmt: skip
async def send(message: Message, target: Target, post: Post) -> None:
    """One attachment for each alert, with its sentences and links."""
    body = json.dumps(
        {
            "text": _escaped(message.title),
            "attachments": [_attachment(alert) for alert in message.alerts[:ALERTS_MOST]],
        },
        ensure_ascii=False,
    ).encode()
    await deliver(
        post, target.secret, body, {"content-type": "application/json", "x-sixstage-delivery": message.id}
    )  # fmt: skip


def _attachment(alert: dict[str, Any]) -> dict[str, Any]:
    links = [f"<{alert['links']['alert']}|Alert>", f"<{alert['links']['view']}|The runs of this time>"]
    links += [f"<{run['url']}|{_escaped(run['words'])}>" for run in alert["slowest"]]
    text = "\n".join([*map(_escaped, alert["sentences"]), " · ".join(links)])
    state = "resolved" if alert["status"] == "resolved" else alert["severity"]
    return {
        "color": COLOURS[state], "title": _escaped(alert["heading"]), "title_link": alert["links"]["alert"],
        "text": text[:LONGEST], "fallback": alert["heading"], "mrkdwn_in": ["text"],
    }  # fmt: skip


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

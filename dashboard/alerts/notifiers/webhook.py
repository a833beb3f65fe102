"""A webhook of one's own: JSON, signed."""

from __future__ import annotations

import hashlib
import hmac
import json

from dashboard.alerts.notifiers.registry import Field, Message, Post, Target, deliver, notifier


def signature(secret: str, at_s: int, body: bytes) -> str:
    """Of the time and the body together, so that neither can be sent again with the other changed."""
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"


@notifier(
    "webhook", label="Webhook",
    fields=(
        Field(name="url", label="URL", is_url=True),
        Field(name="secret", label="Signing secret", secret=True, required=False,
              hint="the body is signed with it: HMAC-SHA256 in X-Sixstage-Signature"),
    ),
)  # fmt: skip
async def send(message: Message, target: Target, post: Post) -> None:
    """JSON with the alerts, their labels, sentences and links. `Idempotency-Key` is the same at every try."""
    body = json.dumps({"id": message.id, **message.body}, ensure_ascii=False).encode()
    headers = {"content-type": "application/json", "idempotency-key": message.id, "x-sixstage-delivery": message.id}
    if target.secret:
        headers["x-sixstage-signature"] = signature(target.secret, message.now_ns // 10**9, body)
    await deliver(post, target.options["url"], body, headers)

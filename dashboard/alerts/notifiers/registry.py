"""The registry of notifiers, and what they share: a message, a target, and what may become of sending."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.outbound.fetching import FetchFailed
from ingest.outbound.posting import Posted

RETRIED = {408, 425, 429}


class SendFailed(Exception):
    """Not sent, or nobody knows. ``permanent``: it will not be better next time, so somebody has to change something.
    ``after_s`` is how long the receiver asked to wait."""

    def __init__(self, text: str, *, permanent: bool = False, after_s: float | None = None) -> None:
        super().__init__(text)
        self.permanent, self.after_s = permanent, after_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One thing that a channel is told by. A secret one is kept encrypted and never shown."""

    name: str
    label: str
    hint: str = ""
    secret: bool = False
    required: bool = True
    is_url: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where to; ``secret`` is decrypted."""

    options: Mapping[str, str]
    secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """``id`` is the same at every try; ``body`` is what ``composing`` made of the events."""

    id: str
    body: Mapping[str, Any]
    now_ns: int

    @property
    def alerts(self) -> list[dict[str, Any]]:
        return list(self.body["alerts"])

    @property
    def title(self) -> str:
        return str(self.body["title"])

    @property
    def is_firing(self) -> bool:
        return any(alert["status"] == "firing" for alert in self.body["alerts"])


Post = Callable[[str, bytes, Mapping[str, str]], Awaitable[Posted]]
Send = Callable[[Message, Target, Post], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    name: str
    label: str
    fields: tuple[Field, ...]
    send: Send
    doc: str

    @property
    def summary(self) -> str:
        """What a receiver gets, in one sentence."""
        return " ".join(self.doc.split()).replace("`", "")

    @property
    def secret(self) -> Field | None:
        return next((field for field in self.fields if field.secret), None)


NOTIFIERS: dict[str, Notifier] = {}


def notifier(name: str, *, label: str, fields: tuple[Field, ...]) -> Callable[[Send], Send]:
    """Register a function that sends. Its docstring says what the receiver gets."""

    def register(send: Send) -> Send:
        NOTIFIERS[name] = Notifier(name=name, label=label, fields=fields, send=send, doc=(send.__doc__ or "").strip())
        return send

    return register


async def deliver(post: Post, url: str, body: bytes, headers: Mapping[str, str]) -> Posted:
    """Post, and take everything but a 2xx for failed. Raises SendFailed."""
    try:
        answer = await post(url, body, headers)
    except FetchFailed as error:
        raise SendFailed(str(error), permanent=error.why == "refused_address") from None
    if 200 <= answer.status < 300:
        return answer
    said = answer.body[:200].decode("utf-8", "replace").strip()
    text = f"answers {answer.status}" + (f": {said}" if said else "")
    if answer.status in RETRIED or answer.status >= 500:
        raise SendFailed(text, after_s=_seconds(answer.headers.get("retry-after", "")))
    raise SendFailed(text, permanent=True)


def _seconds(text: str) -> float | None:
    return min(float(text), 3600.0) if text.isascii() and text.isdecimal() and len(text) < 6 else None

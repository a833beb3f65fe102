"""The gate of ``ingest.guard`` as an ASGI function around another, so that no route can be added outside it.

Here a request also gets its id, so that what is refused at the gate has one too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

from ingest.guard import refusal
from ingest.observing import logs
from ingest.otlp.errors import Forbidden
from ingest.otlp.http import ROUTES, Receive, Scope, Send, answer_error, begin

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guarded(app: App) -> App:
    """``app`` for requests and sockets that pass the gate; 403 for the others."""

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        why = refusal(_text(headers.get(b"host")), _text(headers.get(b"origin")), settings.ALLOWED_HOSTS)
        if scope["type"] == "http":
            send = _with_request_id(send, _text(headers.get(b"x-request-id")))
        if why is None:
            return await app(scope, receive, send)
        if scope["type"] == "websocket":
            await receive()
            return await send({"type": "websocket.close", "code": 4403, "reason": why[:120]})
        if scope["path"].rstrip("/") in ROUTES:
            begin(scope, {_text(k) or "": _text(v) or "" for k, v in headers.items()}).refused("forbidden", why)
        protobuf = headers.get(b"content-type", b"").startswith(b"application/x-protobuf")
        return await answer_error(send, Forbidden(why), as_json=not protobuf)

    return gate


def _with_request_id(send: Send, given: str | None) -> Send:
    """Answers name their request: by the client's ``x-request-id`` or a new one, which log lines have as well."""
    request_id = logs.choose_request_id(given)
    logs.request_id.set(request_id)

    async def named(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id.encode())]
        await send(message)

    return named


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")

"""The gate of ``ingest.guard`` as an ASGI function around another, so that no route can be added outside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.conf import settings

from ingest.guard import refusal
from ingest.otlp.errors import Forbidden
from ingest.otlp.http import Receive, Scope, Send, answer_error

App = Callable[[Scope, Receive, Send], Awaitable[None]]


def guarded(app: App) -> App:
    """``app`` for requests and sockets that pass the gate; 403 for the others."""

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await app(scope, receive, send)
        headers: dict[bytes, bytes] = dict(scope["headers"])
        why = refusal(_text(headers.get(b"host")), _text(headers.get(b"origin")), settings.ALLOWED_HOSTS)
        if why is None:
            return await app(scope, receive, send)
        if scope["type"] == "websocket":
            await receive()
            return await send({"type": "websocket.close", "code": 4403, "reason": why[:120]})
        protobuf = headers.get(b"content-type", b"").startswith(b"application/x-protobuf")
        return await answer_error(send, Forbidden(why), as_json=not protobuf)

    return gate


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")

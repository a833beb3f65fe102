"""OTLP over HTTP as a bare ASGI function: a framework's request object would cost seven times as much."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

from ingest.models.telemetry import Signal
from ingest.observing import exports
from ingest.observing.exports import Export
from ingest.otlp.bodies import decompress
from ingest.otlp.errors import (
    IngestError,
    NotFound,
    StoreUnavailable,
    UnsupportedType,
    WrongMethod,
)
from ingest.otlp.reading import ClientGone, throw_away
from ingest.otlp.receiver import Receiver
from ingest.otlp.replies import encode, encode_error

log = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

ROUTES = {
    "/v1/traces": Signal.TRACES,
    "/v1/metrics": Signal.METRICS,
    "/v1/logs": Signal.LOGS,
    "/api/public/otel/v1/traces": Signal.TRACES,
}
PROTOBUF, JSON = "application/x-protobuf", "application/json"
OURS = "the receiver failed; its log says why"


async def serve_export(receiver: Receiver, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one export request."""
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    as_json = content_type == JSON
    export = begin(scope, headers)
    try:
        response = await _export(receiver, export, scope, headers, content_type, receive)
    except ClientGone:
        export.refused("client_gone", "The client left before its body was complete.")
    except IngestError as error:
        receiver.note_refusal(error, scope["path"])
        export.refused(error.reason, str(error))
        await answer_error(send, error, as_json, receive)
    except Exception:
        # The fault is ours: the client keeps its data and sends it again.
        log.exception("an export request failed", extra={"project": export.project_id})
        export.refused("internal", OURS)
        await answer_error(send, StoreUnavailable(OURS), as_json)
    else:
        await answer(send, 200, encode(response, as_json), as_json)
        export.accepted()


def begin(scope: Scope, headers: dict[str, str]) -> Export:
    """What is to be counted of this request, as the one that its task is about."""
    client = scope.get("client")
    export = Export(ROUTES.get(scope["path"].rstrip("/")), scope["path"], headers, client[0] if client else "")
    exports.current.set(export)
    return export


async def _export(
    receiver: Receiver, export: Export, scope: Scope, headers: dict[str, str], content_type: str, receive: Receive
) -> Any:
    signal = ROUTES.get(scope["path"].rstrip("/"))
    if signal is None:
        raise NotFound(f"{scope['path']} is none of {', '.join(ROUTES)}")
    if scope["method"] != "POST":
        raise WrongMethod(f"{scope['path']} takes POST only")
    if content_type not in (PROTOBUF, JSON):
        raise UnsupportedType(f"content-type {content_type!r} is not read here; send {PROTOBUF} or {JSON}")
    rules = await receiver.keys.rules_of(headers)
    export.project_id = rules.project_id
    receiver.admit(rules)  # what is refused anyway is not worth reading
    limit = settings.SIXSTAGE_BODY_LIMIT_BYTES
    # No name is given to body and data here: they would live until the commit.
    return await receiver.export(
        signal,
        decompress(
            export.came(await receiver.reading.read(receive, headers.get("content-length"), limit)),
            headers.get("content-encoding", ""),
            limit,
        ),
        content_type == JSON,
        headers,
    )


async def answer_error(send: Send, error: IngestError, as_json: bool, receive: Receive | None = None) -> None:
    """With ``receive``, what is still coming is thrown away for a moment before the connection is closed: closed at
    once it would be reset, and the answer lost on its way."""
    extra = [(b"retry-after", b"%d" % error.retry_after_s)] if error.retry_after_s else []
    if isinstance(error, WrongMethod):
        extra.append((b"allow", b"POST"))
    if error.closes:
        extra.append((b"connection", b"close"))
    rest = receive if error.closes else None
    await answer(send, error.status, encode_error(error, as_json), as_json, extra, rest)


async def answer(
    send: Send,
    status: int,
    body: bytes,
    as_json: bool,
    extra: list[tuple[bytes, bytes]] | None = None,
    rest: Receive | None = None,
) -> None:
    kind = JSON if as_json else PROTOBUF
    headers = [(b"content-type", kind.encode()), (b"content-length", b"%d" % len(body)), *(extra or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if rest is not None:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await throw_away(rest)
        body = b""
    await send({"type": "http.response.body", "body": body})

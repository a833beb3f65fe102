"""The three OTLP Export services over gRPC, on the event loop of the HTTP server beside it.

The gate of ``ingest.guard`` is not needed here, nor does grpc show the ``:authority`` that it would look at: a
page in a browser cannot speak gRPC (no script reaches HTTP/2 without TLS, nor its trailers), so neither
cross-site requests nor DNS rebinding get this far.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import grpc
from django.conf import settings
from grpc import aio

from ingest import wire
from ingest.models.telemetry import Signal
from ingest.observing import exports, logs
from ingest.observing.exports import Export
from ingest.otlp.errors import IngestError, Overloaded, StoreUnavailable
from ingest.otlp.http import OURS
from ingest.otlp.receiver import Receiver
from ingest.otlp.replies import encode_error

log = logging.getLogger(__name__)

SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
}
CONCURRENT_MOST = 512
# What a connection may have under way (a client queues the rest itself), when a silent peer counts as gone, and how
# long one lives: what half a message, or an answer that nobody reads, holds in memory ends with its connection.
CONNECTIONS = (
    ("grpc.max_concurrent_streams", 64),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.max_connection_idle_ms", 600_000),
    ("grpc.max_connection_age_ms", 1_800_000),
    ("grpc.max_connection_age_grace_ms", 60_000),
    ("grpc.server_handshake_timeout_ms", 20_000),
)
RETRY_INFO_TYPE = "type.googleapis.com/google.rpc.RetryInfo"


def make_server(receiver: Receiver, address: str) -> aio.Server:
    """A server bound to ``address``. Raises RuntimeError when the port is taken.

    The message size limit holds after decompression (grpc's own rule); over it clients get RESOURCE_EXHAUSTED
    without RetryInfo, which they do not retry.
    """
    limit = settings.SIXSTAGE_BODY_LIMIT_BYTES
    server = aio.server(
        options=[("grpc.max_receive_message_length", limit), ("grpc.so_reuseport", 0), *CONNECTIONS],
    )
    room = _Room()
    for signal, service in SERVICES.items():
        handler = grpc.unary_unary_rpc_method_handler(
            _export(receiver, signal, room),
            request_deserializer=None,  # the receiver decodes, so that one bad span costs itself alone
            response_serializer=lambda response: response.SerializeToString(),
        )
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": handler}),))
    if server.add_insecure_port(address) == 0:
        raise RuntimeError(f"{address} is in use")
    return server


class _Room:
    """How many exports may be under way. grpc's own limit would answer RESOURCE_EXHAUSTED without RetryInfo,
    on which clients drop their data."""

    def __init__(self) -> None:
        self.taken = 0

    @contextmanager
    def enter(self) -> Iterator[None]:
        if self.taken >= CONCURRENT_MOST:
            raise Overloaded(f"{self.taken} exports are under way; send again in a second")
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


def _export(receiver: Receiver, signal: Signal, room: _Room) -> Callable[[bytes, Any], Awaitable[Any]]:
    async def export(body: bytes, context: Any) -> Any:
        headers = {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}
        trailers = (("x-request-id", _request_id(headers)),)
        counted = Export(signal, f"gRPC {signal.label.lower()}", headers, _address(context))
        exports.current.set(counted)
        counted.size = len(body)
        try:
            with room.enter():
                counted.project_id = (await receiver.keys.rules_of(headers)).project_id
                response = await receiver.export(signal, body, False, headers)
        except IngestError as error:
            receiver.note_refusal(error, counted.way)
            counted.refused(error.reason, str(error))
            await _abort(context, error, trailers)
        except Exception:
            log.exception("a gRPC export failed", extra={"project": counted.project_id})
            counted.refused("internal", OURS)
            await _abort(context, StoreUnavailable(OURS), trailers)
        else:
            context.set_trailing_metadata(trailers)
            counted.accepted()
            return response

    return export


def _request_id(headers: dict[str, str]) -> str:
    """The call's id, which log lines have as well."""
    request_id = logs.choose_request_id(headers.get("x-request-id"))
    logs.request_id.set(request_id)
    return request_id


def _address(context: Any) -> str:
    """The client's address of grpc's ``ipv4:127.0.0.1:51012`` or ``ipv6:%5B::1%5D:51012``."""
    _, _, peer = context.peer().partition(":")
    return unquote(peer.rpartition(":")[0]).strip("[]")


async def _abort(context: Any, error: IngestError, trailers: tuple[tuple[str, str | bytes], ...]) -> None:
    if error.retry_after_s:
        details = encode_error(error, as_json=False) + wire.field(3, _retry_info(error.retry_after_s))
        trailers = (*trailers, ("grpc-status-details-bin", details))
    context.set_trailing_metadata(trailers)
    await context.abort(grpc.StatusCode[error.grpc_code.name], str(error))


def _retry_info(seconds: int) -> bytes:
    """google.protobuf.Any of google.rpc.RetryInfo { retry_delay { seconds } }."""
    delay = wire.varint(1 << 3) + wire.varint(seconds)
    return wire.field(1, RETRY_INFO_TYPE.encode()) + wire.field(2, wire.field(1, delay))

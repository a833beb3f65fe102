"""A tiny OTLP/HTTP collector for tests: takes spans on loopback, keeps them decoded, and lets a test wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Event:
    name: str
    at_ns: int
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Span:
    """A span as received; ids are hex, times Unix nanoseconds."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    events: list[Event]
    failed: bool
    status: str
    resource: dict[str, Any]
    scope: str

    @property
    def operation(self) -> str:
        return str(self.attributes.get("gen_ai.operation.name") or self.name)


class Collector:
    """Serves ``POST /v1/traces`` while used as a context manager. ``status`` makes it refuse."""

    def __init__(self, status: int = 200) -> None:
        self.spans: list[Span] = []
        self.headers: list[dict[str, str]] = []
        self.status = status
        self._news = threading.Condition()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector._take(dict(self.headers.items()), body)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def wait(self, enough: Callable[[list[Span]], bool], timeout_s: float = 10.0) -> list[Span]:
        with self._news:
            assert self._news.wait_for(lambda: enough(self.spans), timeout_s), [s.name for s in self.spans]
            return list(self.spans)

    def of(self, operation: str) -> list[Span]:
        return sorted((s for s in self.spans if s.operation == operation), key=lambda s: s.start_ns)

    def one(self, operation: str) -> Span:
        (span,) = self.of(operation)
        return span

    def _take(self, headers: dict[str, str], body: bytes) -> None:
        with self._news:
            self.headers.append(headers)
            if self.status == 200:
                self.spans += _decoded(ExportTraceServiceRequest.FromString(body))
            self._news.notify_all()


def _decoded(request: ExportTraceServiceRequest) -> list[Span]:
    return [
        Span(
            trace_id=span.trace_id.hex(),
            span_id=span.span_id.hex(),
            parent_id=span.parent_span_id.hex(),
            name=span.name,
            kind=span.kind,
            start_ns=span.start_time_unix_nano,
            end_ns=span.end_time_unix_nano,
            attributes=_values(span.attributes),
            events=[Event(e.name, e.time_unix_nano, _values(e.attributes)) for e in span.events],
            failed=span.status.code == 2,
            status=span.status.message,
            resource=_values(group.resource.attributes),
            scope=scoped.scope.name,
        )
        for group in request.resource_spans
        for scoped in group.scope_spans
        for span in scoped.spans
    ]


def _values(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)

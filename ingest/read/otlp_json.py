"""Traces as OTLP JSON, from what was stored: a file that any OTLP receiver takes, ids in hex as the protocol has it.

Spans stand under ``resourceSpans`` and log records beside them under ``resourceLogs``. Receivers have to overlook names
that they do not know, so the same file is a request of ``/v1/traces`` and, where it has log records, of ``/v1/logs``.

Piece by piece, one stored chunk at a time, so that a large trace is never held whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.compression import decompress
from ingest.models.telemetry import Signal
from ingest.read.traces import bodies, trace_key
from ingest.scope import Scope


def otlp_json(scope: Scope, trace_ids: Iterable[str]) -> Iterator[bytes]:
    """The text of one request, in pieces; a trace that the scope has not is left out.

    A span that was sent more than once stands there as often, in the order of receipt: whoever reads it lets the last
    win, as here.
    """
    keys = [key for trace_id in trace_ids if (key := trace_key(trace_id)) is not None]
    yield b'{"resourceSpans":['
    yield from _joined(_spans(chunk, key) for key in keys for chunk in bodies(scope, key, Signal.TRACES))
    begin = b'],"resourceLogs":['
    for piece in _joined(_logs(chunk) for key in keys for chunk in bodies(scope, key, Signal.LOGS)):
        yield begin + piece
        begin = b""
    yield b"]}"


def _joined(chunks: Iterable[Iterator[dict[str, Any]]]) -> Iterator[bytes]:
    begun = False
    for told in chain.from_iterable(chunks):
        yield (b"," if begun else b"") + msgspec.json.encode(told)
        begun = True


def _spans(chunk: bytes, trace_id: bytes) -> Iterator[dict[str, Any]]:
    for resource_spans in TracesData.FromString(decompress(chunk)).resource_spans:
        for scope_spans in resource_spans.scope_spans:
            for span in scope_spans.spans:
                span.trace_id = trace_id  # which a chunk says once for all of them
        told = MessageToDict(resource_spans, use_integers_for_enums=True)
        _put_hex_ids(resource_spans, told)
        yield told


def _logs(chunk: bytes) -> Iterator[dict[str, Any]]:
    for resource_logs in LogsData.FromString(decompress(chunk)).resource_logs:
        told = MessageToDict(resource_logs, use_integers_for_enums=True)
        for scope_logs, scope_told in zip(resource_logs.scope_logs, told.get("scopeLogs", ()), strict=True):
            for record, record_told in zip(scope_logs.log_records, scope_told.get("logRecords", ()), strict=True):
                _set_ids(record, record_told, ("trace_id", "traceId"), ("span_id", "spanId"))
        yield told


def _put_hex_ids(resource_spans: Any, told: dict[str, Any]) -> None:
    """Protobuf's JSON has bytes in base64; OTLP has ids in hex, and only ids."""
    for scope_spans, scope_told in zip(resource_spans.scope_spans, told.get("scopeSpans", ()), strict=True):
        for span, span_told in zip(scope_spans.spans, scope_told.get("spans", ()), strict=True):
            _set_ids(
                span, span_told, ("trace_id", "traceId"), ("span_id", "spanId"), ("parent_span_id", "parentSpanId")
            )
            for link, link_told in zip(span.links, span_told.get("links", ()), strict=True):
                _set_ids(link, link_told, ("trace_id", "traceId"), ("span_id", "spanId"))


def _set_ids(message: Any, told: dict[str, Any], *names: tuple[str, str]) -> None:
    for field, name in names:
        value: bytes = getattr(message, field)
        if value:
            told[name] = value.hex()

"""Traces as OTLP JSON, from what was stored: a file that any OTLP receiver takes, ids in hex as the protocol has it.

Piece by piece, one stored chunk at a time, so that a large trace is never held whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.compression import decompress
from ingest.models.telemetry import Signal
from ingest.read.traces import bodies, trace_key
from ingest.scope import Scope


def otlp_json(scope: Scope, trace_ids: Iterable[str]) -> Iterator[bytes]:
    """The text of one ``ExportTraceServiceRequest``; a trace that the scope has not is left out.

    A span that was sent more than once stands there as often, in the order of receipt: whoever reads it lets the last
    win, as here.
    """
    yield b'{"resourceSpans":['
    begun = False
    for chunk in _chunks(scope, trace_ids):
        for resource_spans in TracesData.FromString(decompress(chunk)).resource_spans:
            told = MessageToDict(resource_spans, use_integers_for_enums=True)
            _put_hex_ids(resource_spans, told)
            yield (b"," if begun else b"") + msgspec.json.encode(told)
            begun = True
    yield b"]}"


def _chunks(scope: Scope, trace_ids: Iterable[str]) -> Iterator[bytes]:
    for trace_id in trace_ids:
        key = trace_key(trace_id)
        if key is not None:
            yield from bodies(scope, key, Signal.TRACES)


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

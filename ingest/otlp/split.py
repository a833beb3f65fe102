"""A request cut by trace: every chunk holds one trace's spans (or log records) with their resource and scope,
so that it can be kept, read and moved alone."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest.models.telemetry import Signal
from ingest.otlp.requests import Refusals
from ingest.otlp.trimming import NOTHING_TRIMMED, Trimming
from ingest.otlp_raw import Slices

TRACE_ID_BYTES, SPAN_ID_BYTES = 16, 8
ZERO_TRACE, ZERO_SPAN = bytes(TRACE_ID_BYTES), bytes(SPAN_ID_BYTES)
NO_PARENT = (b"", ZERO_SPAN)
# A span's first field, as all encoders write it: its number and kind, its length, the id.
_TRACE_ID_BEGINS = b"\x0a\x10"
_TRACE_ID_ENDS = len(_TRACE_ID_BEGINS) + TRACE_ID_BYTES


@dataclass(frozen=True, slots=True)
class TracePart:
    """One trace's share of a request, as an uncompressed OTLP message (TracesData or LogsData). Its spans do not name
    their trace. ``ends`` says that the trace's first span is among them: it is the last that its process sends."""

    signal: Signal
    trace_id: bytes
    items: int
    content: bytes
    ends: bool = False


@dataclass(frozen=True, slots=True)
class Remainder:
    """What belongs to no trace: metrics, and log records without a trace id."""

    signal: Signal
    items: int
    content: bytes


def digest(content: bytes) -> int:
    """64 bits of BLAKE2b as PostgreSQL's signed bigint: the same content, sent again, has the same key."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big", signed=True)


def split_traces(
    request: Any, refusals: Refusals, trimming: Trimming = NOTHING_TRIMMED, sent: bytes | None = None
) -> list[TracePart]:
    """One part for each trace of the request. Spans without proper ids are refused one by one.

    ``sent`` are the bytes that the request was read from, if it still says what they do: then its spans are taken
    over as they came, and not written anew. A part says once for all of its spans which trace they are of; in each
    it would take 4 bytes more on disk of 460.
    """
    grouped = _Grouping(Signal.TRACES, trimming)
    limit_bytes = grouped.limit_bytes
    slices = Slices.FromString(request.SerializeToString() if sent is None else sent)
    for resource_spans, resource_slice in zip(request.resource_spans, slices.resources, strict=True):
        for scope_spans, scope_slice in zip(resource_spans.scope_spans, resource_slice.scopes, strict=True):
            here = grouped.place(resource_spans, resource_slice, scope_spans, scope_slice)
            for span, content in zip(scope_spans.spans, scope_slice.items, strict=True):
                trace_id, span_id = span.trace_id, span.span_id
                if len(trace_id) != TRACE_ID_BYTES or trace_id == ZERO_TRACE:
                    refusals.refuse(_bad_id("trace_id", trace_id, TRACE_ID_BYTES))
                elif len(span_id) != SPAN_ID_BYTES or span_id == ZERO_SPAN:
                    refusals.refuse(_bad_id("span_id", span_id, SPAN_ID_BYTES))
                else:
                    kept = content if len(content) <= limit_bytes else trimming.cut_item(span)
                    here.add(trace_id, kept[_TRACE_ID_ENDS:] if kept.startswith(_TRACE_ID_BEGINS) else kept)
                    if span.parent_span_id in NO_PARENT:
                        grouped.ended.add(trace_id)
    return grouped.finish()


def split_logs(request: Any, trimming: Trimming = NOTHING_TRIMMED) -> tuple[list[TracePart], Remainder | None]:
    """Log records by trace, and those without a trace together."""
    grouped = _Grouping(Signal.LOGS, trimming)
    limit_bytes = grouped.limit_bytes
    loose = ExportLogsServiceRequest()
    loose_items = 0
    slices = Slices.FromString(request.SerializeToString())
    for resource_logs, resource_slice in zip(request.resource_logs, slices.resources, strict=True):
        for scope_logs, scope_slice in zip(resource_logs.scope_logs, resource_slice.scopes, strict=True):
            here = grouped.place(resource_logs, resource_slice, scope_logs, scope_slice)
            unplaced = []
            for record, content in zip(scope_logs.log_records, scope_slice.items, strict=True):
                if len(content) > limit_bytes:
                    content = trimming.cut_item(record)
                if len(record.trace_id) == TRACE_ID_BYTES and record.trace_id != ZERO_TRACE:
                    here.add(record.trace_id, content)
                else:
                    unplaced.append(record)
            if unplaced:
                kept = loose.resource_logs.add(resource=resource_logs.resource, schema_url=resource_logs.schema_url)
                kept.scope_logs.add(scope=scope_logs.scope, log_records=unplaced)
                loose_items += len(unplaced)
    rest = Remainder(Signal.LOGS, loose_items, loose.SerializeToString()) if loose_items else None
    return grouped.finish(), rest


def whole_metrics(request: Any) -> Remainder | None:
    items = sum(len(scope.metrics) for resource in request.resource_metrics for scope in resource.scope_metrics)
    return Remainder(Signal.METRICS, items, request.SerializeToString()) if items else None


_Key = tuple[bytes, str, bytes]  # resource, the address of its schema, scope


class _Grouping:
    """Collects items by trace, resource and scope, and lays them into messages at the end."""

    def __init__(self, signal: Signal, trimming: Trimming) -> None:
        self.signal, self.trimming = signal, trimming
        self.limit_bytes = trimming.limit_bytes or sys.maxsize
        self.parts: dict[bytes, dict[_Key, list[bytes]]] = {}
        self.ended: set[bytes] = set()  # the traces whose first span has come

    def place(self, resource_part: Any, resource_slice: Any, scope_part: Any, scope_slice: Any) -> _Place:
        """Where items of this resource and scope go."""
        resource, scope = resource_slice.resource, scope_slice.scope
        if len(resource) > self.limit_bytes:
            resource = self.trimming.cut_resource(resource_part.resource)
        if len(scope) > self.limit_bytes:
            scope = self.trimming.cut_resource(scope_part.scope)
        return _Place(self.parts, (resource, resource_part.schema_url, scope))

    def finish(self) -> list[TracePart]:
        return [
            TracePart(self.signal, trace_id, sum(map(len, places.values())), _laid(places), trace_id in self.ended)
            for trace_id, places in self.parts.items()
        ]


class _Place:
    __slots__ = ("here", "key", "parts")

    def __init__(self, parts: dict[bytes, dict[_Key, list[bytes]]], key: _Key) -> None:
        self.parts, self.key = parts, key
        self.here: dict[bytes, list[bytes]] = {}

    def add(self, trace_id: bytes, item: bytes) -> None:
        items = self.here.get(trace_id)
        if items is None:
            items = self.here[trace_id] = self.parts.setdefault(trace_id, {}).setdefault(self.key, [])
        items.append(item)


def _laid(places: dict[_Key, list[bytes]]) -> bytes:
    """A resource message for each place: resource, then its scope with the items."""
    slices = Slices()
    for (resource, schema_url, scope), items in places.items():
        slices.resources.add(resource=resource, schema_url=schema_url).scopes.add(scope=scope, items=items)
    content: bytes = slices.SerializeToString()
    return content


def _bad_id(name: str, value: bytes, size: int) -> str:
    if len(value) == size:
        return f"{name} is all zeros"
    if not value:
        return f"{name} is missing"
    return f"{name} has {len(value)} bytes, not {size}; in OTLP/JSON ids are {2 * size} hex digits, not base64"

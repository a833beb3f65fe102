"""A request cut by trace: every chunk holds one trace's spans (or log records) with their resource and scope,
so that it can be kept, read and moved alone."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from ingest import wire
from ingest.models.telemetry import Signal
from ingest.otlp.requests import Refusals
from ingest.otlp.trimming import NOTHING_TRIMMED, Trimming

TRACE_ID_BYTES, SPAN_ID_BYTES = 16, 8
ZERO_TRACE, ZERO_SPAN = bytes(TRACE_ID_BYTES), bytes(SPAN_ID_BYTES)


@dataclass(frozen=True, slots=True)
class TracePart:
    """One trace's share of a request, as an uncompressed OTLP message (TracesData or LogsData)."""

    signal: Signal
    trace_id: bytes
    items: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Remainder:
    """What belongs to no trace: metrics, and log records without a trace id."""

    signal: Signal
    items: int
    content: bytes


def digest(content: bytes) -> int:
    """64 bits of BLAKE2b as PostgreSQL's signed bigint: the same content, sent again, has the same key."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big", signed=True)


def split_traces(request: Any, refusals: Refusals, trimming: Trimming = NOTHING_TRIMMED) -> list[TracePart]:
    """One part for each trace of the request. Spans without proper ids are refused one by one."""
    grouped = _Grouping(Signal.TRACES, trimming)
    limit_bytes = grouped.limit_bytes
    for resource_spans in request.resource_spans:
        for scope_spans in resource_spans.scope_spans:
            here = grouped.place(resource_spans, scope_spans)
            for span in scope_spans.spans:
                trace_id, span_id = span.trace_id, span.span_id
                if len(trace_id) != TRACE_ID_BYTES or trace_id == ZERO_TRACE:
                    refusals.refuse(_bad_id("trace_id", trace_id, TRACE_ID_BYTES))
                elif len(span_id) != SPAN_ID_BYTES or span_id == ZERO_SPAN:
                    refusals.refuse(_bad_id("span_id", span_id, SPAN_ID_BYTES))
                else:
                    content = span.SerializeToString()
                    here.add(trace_id, content if len(content) <= limit_bytes else trimming.cut_item(span))
    return grouped.finish()


def split_logs(request: Any, trimming: Trimming = NOTHING_TRIMMED) -> tuple[list[TracePart], Remainder | None]:
    """Log records by trace, and those without a trace together."""
    grouped = _Grouping(Signal.LOGS, trimming)
    loose = ExportLogsServiceRequest()
    loose_items = 0
    for resource_logs in request.resource_logs:
        for scope_logs in resource_logs.scope_logs:
            here = grouped.place(resource_logs, scope_logs)
            unplaced = []
            for record in scope_logs.log_records:
                if len(record.trace_id) == TRACE_ID_BYTES and record.trace_id != ZERO_TRACE:
                    here.add(record.trace_id, grouped.item(record))
                else:
                    grouped.item(record)
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


class _Grouping:
    """Collects serialised items by trace, resource and scope, and lays them into messages at the end."""

    def __init__(self, signal: Signal, trimming: Trimming) -> None:
        self.signal, self.trimming = signal, trimming
        self.limit_bytes = trimming.limit_bytes or sys.maxsize
        self.parts: dict[bytes, dict[tuple[bytes, bytes], list[bytes]]] = {}

    def item(self, item: Any) -> bytes:
        """A span or log record, serialised; what is larger than the limit is looked through and cut."""
        content: bytes = item.SerializeToString()
        return content if len(content) <= self.limit_bytes else self.trimming.cut_item(item)

    def _shared(self, message: Any) -> bytes:
        content: bytes = message.SerializeToString()
        return content if len(content) <= self.limit_bytes else self.trimming.cut_resource(message)

    def place(self, resource_part: Message, scope_part: Message) -> _Place:
        """Where items of this resource and scope go."""
        resource = wire.field(1, self._shared(resource_part.resource))  # type: ignore[attr-defined]
        if resource_part.schema_url:  # type: ignore[attr-defined]
            resource += wire.field(3, resource_part.schema_url.encode())  # type: ignore[attr-defined]
        scope = wire.field(1, self._shared(scope_part.scope))  # type: ignore[attr-defined]
        return _Place(self.parts, (resource, scope))

    def finish(self) -> list[TracePart]:
        return [
            TracePart(self.signal, trace_id, sum(map(len, places.values())), b"".join(_messages(places)))
            for trace_id, places in self.parts.items()
        ]


class _Place:
    __slots__ = ("key", "parts")

    def __init__(self, parts: dict[bytes, dict[tuple[bytes, bytes], list[bytes]]], key: tuple[bytes, bytes]) -> None:
        self.parts, self.key = parts, key

    def add(self, trace_id: bytes, item: bytes) -> None:
        self.parts.setdefault(trace_id, {}).setdefault(self.key, []).append(item)


def _messages(places: dict[tuple[bytes, bytes], list[bytes]]) -> Iterator[bytes]:
    """A resource message for each place: resource, then its scope with the items."""
    for (resource, scope), items in places.items():
        scoped = scope + b"".join([wire.field(2, item) for item in items])
        yield wire.field(1, resource + wire.field(2, scoped))


def _bad_id(name: str, value: bytes, size: int) -> str:
    if len(value) == size:
        return f"{name} is all zeros"
    if not value:
        return f"{name} is missing"
    return f"{name} has {len(value)} bytes, not {size}; in OTLP/JSON ids are {2 * size} hex digits, not base64"

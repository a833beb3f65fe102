"""Stored chunks back into spans."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import zstandard
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.spans import Attributes, AttributeValue, Event, Span


def decompress(body: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompress(body)


def spans_of(body: bytes) -> Iterator[Span]:
    """The spans of a stored chunk, in the order in which they were sent."""
    data = TracesData.FromString(decompress(body))
    for resource_spans in data.resource_spans:
        resource = attributes_of(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            scope_name, scope_version = scope_spans.scope.name, scope_spans.scope.version
            for span in scope_spans.spans:
                yield _span(span, resource, scope_name, scope_version)


def _span(span: Any, resource: Attributes, scope_name: str, scope_version: str) -> Span:
    status = span.status
    return Span(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_span_id=_parent(span.parent_span_id, span.span_id),
        name=span.name,
        kind=span.kind,
        start_unix_ns=span.start_time_unix_nano,
        end_unix_ns=span.end_time_unix_nano,
        status=status.code,
        status_message=status.message,
        attributes=attributes_of(span.attributes),
        events=tuple(
            Event(name=event.name, unix_ns=event.time_unix_nano, attributes=attributes_of(event.attributes))
            for event in span.events
        ),
        resource=resource,
        scope_name=scope_name,
        scope_version=scope_version,
        dropped_events=span.dropped_events_count,
        flags=span.flags,
    )


def _parent(parent_span_id: bytes, span_id: bytes) -> str | None:
    """None for a root: an empty or all-zero parent, or a span that names itself."""
    if len(parent_span_id) != 8 or not any(parent_span_id) or parent_span_id == span_id:
        return None
    return parent_span_id.hex()


def attributes_of(pairs: Iterable[Any]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for pair in pairs:
        value = pair.value
        # Most values are strings, and asking for one is half the price of asking which kind it is.
        found[pair.key] = value.string_value or value_of(value)
    return found


def value_of(value: AnyValue) -> AttributeValue:
    """An OTLP AnyValue as a Python value; unset is None."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [value_of(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return attributes_of(value.kvlist_value.values)
    return getattr(value, kind)  # type: ignore[no-any-return]

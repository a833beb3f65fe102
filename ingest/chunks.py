"""Stored chunks back into spans."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.compression import decompress
from ingest.spans import Attributes, AttributeValue, Event, Span

ZERO_SPAN = bytes(8)
# How to ask a pair for its value, by the kind that this key's values had before: an emitter does not change its
# mind, and asking which kind a value is costs more than all the rest. Dropped whole when it is full.
_Ask = Callable[[Any], Any]
_ASK: dict[str, _Ask] = {
    kind: attrgetter(f"value.{kind}") for kind in ("string_value", "bool_value", "int_value", "double_value")
}
_KEYS: dict[str, tuple[str, _Ask]] = {}
MAX_KEYS = 8_192


def spans_of(body: bytes) -> Iterator[Span]:
    """The spans of a stored chunk, in the order in which they were sent."""
    return spans_in(decompress(body))


def spans_in(content: bytes) -> Iterator[Span]:
    """The spans of a chunk's content."""
    data = TracesData.FromString(content)
    resources: dict[bytes, Attributes] = {}
    for resource_spans in data.resource_spans:
        resource = _resource(resource_spans.resource, resources)
        for scope_spans in resource_spans.scope_spans:
            scope_name, scope_version = scope_spans.scope.name, scope_spans.scope.version
            for span in scope_spans.spans:
                yield _span(span, resource, scope_name, scope_version)


def _resource(resource: Any, known: dict[bytes, Attributes]) -> Attributes:
    """A chunk repeats its resource for each scope; it is read once."""
    raw = resource.SerializeToString()
    found = known.get(raw)
    if found is None:
        found = known[raw] = attributes_of(resource.attributes)
    return found


def _span(span: Any, resource: Attributes, scope_name: str, scope_version: str) -> Span:
    span_id, status, events = span.span_id, span.status, span.events
    return Span(
        trace_id=span.trace_id.hex(),
        span_id=span_id.hex(),
        parent_span_id=_parent(span.parent_span_id, span_id),
        name=span.name,
        kind=span.kind,
        start_unix_ns=span.start_time_unix_nano,
        end_unix_ns=span.end_time_unix_nano,
        status=status.code,
        status_message=status.message,
        attributes=attributes_of(span.attributes),
        events=tuple([_event(event) for event in events]) if events else (),
        resource=resource,
        scope_name=scope_name,
        scope_version=scope_version,
        dropped_events=span.dropped_events_count,
        flags=span.flags,
    )


def _event(event: Any) -> Event:
    return Event(name=event.name, unix_ns=event.time_unix_nano, attributes=attributes_of(event.attributes))


def _parent(parent_span_id: bytes, span_id: bytes) -> str | None:
    """None for a root: an empty or all-zero parent, or a span that names itself."""
    if len(parent_span_id) != 8 or parent_span_id in (ZERO_SPAN, span_id):
        return None
    return parent_span_id.hex()


def attributes_of(pairs: Iterable[Any]) -> dict[str, AttributeValue]:
    found: dict[str, AttributeValue] = {}
    for pair in pairs:
        key = pair.key
        known = _KEYS.get(key)
        key, ask = known if known is not None else _learn(key, pair.value)
        # False, empty and absent look the same here, and so does a value of another kind than before.
        found[key] = ask(pair) or value_of(pair.value)
    return found


def _learn(key: str, value: AnyValue) -> tuple[str, _Ask]:
    """One string for all pairs of a key, for quick comparison, and how to ask for their values."""
    if len(_KEYS) >= MAX_KEYS:
        _KEYS.clear()
    known = _KEYS[key] = sys.intern(key), _ASK.get(value.WhichOneof("value") or "", _ASK["string_value"])
    return known


def value_of(value: AnyValue) -> AttributeValue:
    """An OTLP AnyValue as a Python value; unset is None."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [item.string_value or value_of(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return attributes_of(value.kvlist_value.values)
    return getattr(value, kind)  # type: ignore[no-any-return]

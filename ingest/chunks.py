"""Stored chunks back into spans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from ingest.attributes import attributes_of, read_attributes
from ingest.compression import decompress
from ingest.otlp_raw import TracesData
from ingest.spans import STATUS_UNSET, Attributes, Event, Span

ZERO_SPAN = bytes(8)
_UNSET = STATUS_UNSET, ""


def spans_of(body: bytes, trace_id: str) -> Iterator[Span]:
    """The spans of a stored chunk of the trace, in the order in which they were sent."""
    return spans_in(decompress(body), trace_id)


def spans_in(content: bytes, trace_id: str, wanted: Callable[[Any], bool] | None = None) -> Iterator[Span]:
    """The spans of a chunk's content, which are all of this trace whether or not they name it; with ``wanted``, only
    what it takes is looked into."""
    for resource_spans in TracesData.FromString(content).resource_spans:
        resource = _resource(resource_spans.resource)
        for scope_spans in resource_spans.scope_spans:
            scope_name, scope_version = _scope(scope_spans.scope)
            for span in scope_spans.spans if wanted is None else filter(wanted, scope_spans.spans):
                span_id, parent_span_id, events = span.span_id, span.parent_span_id, span.events
                status, status_message = status_of(span.status) if span.status else _UNSET
                yield Span(
                    trace_id=trace_id,
                    span_id=span_id.hex(),
                    parent_span_id=(
                        parent_span_id.hex()
                        if len(parent_span_id) == 8 and parent_span_id != span_id and parent_span_id != ZERO_SPAN
                        else None  # a root: no parent, a parent of zeros, or a span that names itself
                    ),
                    name=span.name,
                    kind=span.kind,
                    start_unix_ns=span.start_time_unix_nano,
                    end_unix_ns=span.end_time_unix_nano,
                    status=status,
                    status_message=status_message,
                    attributes=read_attributes(span.attributes),
                    events=tuple([_event(event) for event in events]) if events else (),
                    resource=resource,
                    scope_name=scope_name,
                    scope_version=scope_version,
                    dropped_events=span.dropped_events_count,
                    flags=span.flags,
                )


@lru_cache(maxsize=1_024)
def _resource(raw: bytes) -> Attributes:
    """A resource's attributes; every chunk of a process repeats them."""
    return attributes_of(Resource.FromString(raw).attributes)


@lru_cache(maxsize=1_024)
def _scope(raw: bytes) -> tuple[str, str]:
    scope = InstrumentationScope.FromString(raw)
    return scope.name, scope.version


@lru_cache(maxsize=1_024)
def status_of(raw: bytes) -> tuple[int, str]:
    status = Status.FromString(raw)
    return status.code, status.message


def _event(event: Any) -> Event:
    return Event(name=event.name, unix_ns=event.time_unix_nano, attributes=read_attributes(event.attributes))

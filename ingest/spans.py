"""The span as the pure packages see it: plain values, no protobuf, no database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Union

from msgspec import field

from ingest.frozen import Frozen

AttributeValue = Union[  # noqa: UP007 (a string cannot stand on the left of | at run time)
    str, bool, int, float, bytes, None, Sequence["AttributeValue"], Mapping[str, "AttributeValue"]
]
Attributes = Mapping[str, AttributeValue]

KIND_INTERNAL, KIND_SERVER, KIND_CLIENT, KIND_PRODUCER, KIND_CONSUMER = 1, 2, 3, 4, 5
STATUS_UNSET, STATUS_OK, STATUS_ERROR = 0, 1, 2


class Event(Frozen, frozen=True, kw_only=True):
    name: str
    unix_ns: int
    attributes: Attributes = field(default_factory=dict)


class LogEvent(Frozen, frozen=True, kw_only=True):
    """An event that came as a log record, and the span it names."""

    span_id: str
    event: Event


class Span(Frozen, frozen=True, kw_only=True):
    """One OpenTelemetry span.

    Ids are lower-case hex (32 and 16 digits); a missing parent is ``None``. Times are Unix nanoseconds as
    they were sent: ``end_unix_ns`` may lie before ``start_unix_ns``, and either may be absurd.
    """

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int
    start_unix_ns: int
    end_unix_ns: int
    status: int = STATUS_UNSET
    status_message: str = ""
    attributes: Attributes = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    resource: Attributes = field(default_factory=dict)
    scope_name: str = ""
    scope_version: str = ""
    dropped_events: int = 0
    flags: int = 0

"""Protobuf by hand must be what the library reads."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from ingest import wire


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63])
def test_a_varint_is_read_back(value: int) -> None:
    assert wire.read_varint(wire.varint(value), 0) == (value, len(wire.varint(value)))


def test_messages_laid_into_one_another_are_read_by_the_library() -> None:
    span = Span(name="chat", trace_id=b"t" * 16)
    data = wire.field(1, wire.field(2, wire.field(2, span.SerializeToString())))
    assert TracesData.FromString(data).resource_spans[0].scope_spans[0].spans[0] == span


def test_the_fields_of_a_message_are_walked_in_order() -> None:
    span = Span(trace_id=b"t" * 16, name="x", start_time_unix_nano=5, dropped_events_count=3)
    assert [(number, kind) for number, kind, _ in wire.fields(span.SerializeToString())] == [
        (1, 2),
        (5, 2),
        (7, 1),
        (12, 0),
    ]


@pytest.mark.parametrize("data", [b"\x0a\x05ab", b"\xff" * 11, b"\x00\x01", b"\x0b", b"\x09\x01"])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(wire.fields(data))

"""Attributes read from their bytes are what protobuf reads, however they were written."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue

from ingest import wire
from ingest.attributes import read_attributes, value_of

VALUES = st.one_of(
    st.builds(AnyValue, string_value=st.text(max_size=300)),
    st.builds(AnyValue, int_value=st.integers(-(2**63), 2**63 - 1)),
    st.builds(AnyValue, double_value=st.floats(allow_nan=False)),
    st.builds(AnyValue, bool_value=st.booleans()),
    st.builds(AnyValue, bytes_value=st.binary(max_size=300)),
    st.just(AnyValue()),
    st.just(AnyValue(array_value=ArrayValue(values=[AnyValue(string_value="a"), AnyValue(int_value=1)]))),
)


@given(st.text(max_size=200), VALUES)
def test_each_kind_of_value_comes_back(key: str, value: AnyValue) -> None:
    raw = KeyValue(key=key, value=value).SerializeToString()
    assert read_attributes([raw]) == {key: value_of(value)}
    assert read_attributes([raw]) == {key: value_of(value)}, "also where it is known by now"


KEY = wire.field(1, b"k")
OVERLONG = b"\x80\x00", b"\x82\x80\x00"  # 0 and 2, in more bytes than they need


@pytest.mark.parametrize(
    "raw",
    [
        KEY + b"\x12" + OVERLONG[0],
        KEY + b"\x12" + OVERLONG[1] + b"\x0a\x00",
        KEY + wire.field(2, b"\x18" + b"\xff" * 9 + b"\x01"),
        KEY + wire.field(2, b"\x18\x01\x18\x02"),
        KEY + wire.field(2, wire.field(1, b"one") + wire.field(1, b"two")),
        KEY + wire.field(2, b"\x21" + struct.pack("<d", 1.5)) + wire.field(2, b"\x18\x01"),
        wire.field(2, b"\x18\x01") + KEY,
        KEY,
        b"",
    ],
)
def test_odd_ways_of_writing_are_read_as_protobuf_reads_them(raw: bytes) -> None:
    expected = KeyValue.FromString(raw)
    assert read_attributes([raw]) == {expected.key: value_of(expected.value)}

"""Attributes from their bytes.

An emitter's spans repeat most of their attributes byte for byte (model, operation, server); what was read once is
looked up. Keys whose values seldom repeat (ids, texts) are read each time and not remembered.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from ingest.shapes import Shape, shape_by
from ingest.spans import AttributeValue
from ingest.wire import read_varint

# A KeyValue's bytes: 0x0A, the key's length, the key, 0x12, the value's length, the value; a value that is a text:
# 0x0A, its length, the text; an integer: 0x18, a varint; a double: 0x21, eight bytes.
_FIRST, _SECOND, _INTEGER, _DOUBLE = 0x0A, 0x12, 0x18, 0x21
_unpack_double = struct.Struct("<d").unpack_from
_LARGEST = 2**63 - 1
_ONE_BYTE = 0x80  # lengths below need no second byte
MAX_KNOWN, MAX_KNOWN_BYTES, MAX_MISSES = 16_384, 96, 256
MAX_KEYS = 8_192


class StoredAttributes(dict[str, AttributeValue]):
    """Attributes that know their shape."""

    __slots__ = ("shape",)
    shape: Shape


class _Key:
    """A key, once for all its attributes, and how many of its values were not known."""

    __slots__ = ("misses", "text")

    def __init__(self, text: str) -> None:
        self.text = sys.intern(text)
        self.misses = 0


class _Known(dict[bytes, tuple[str, AttributeValue]]):
    """Pairs by their bytes. What is asked for and not known is read."""

    def __missing__(self, raw: bytes) -> tuple[str, AttributeValue]:
        return _read(raw)


_known = _Known()
_keys: dict[bytes, _Key] = {}


def read_attributes(pairs: Iterable[bytes]) -> StoredAttributes:
    """Attributes from KeyValue messages; of a key that comes twice the last wins."""
    found = StoredAttributes(map(_known.__getitem__, pairs))
    found.shape = shape_by(tuple(found))
    return found


def _read(raw: bytes) -> tuple[str, AttributeValue]:
    """One pair. What is not written in the usual way (an odd order, a huge key) is left to protobuf."""
    size = len(raw)
    key_end = 2 + raw[1] if size > 1 else size
    if size < key_end + 2 or raw[0] != _FIRST or raw[1] >= _ONE_BYTE or raw[key_end] != _SECOND:
        return _read_message(raw)
    key_bytes = raw[2:key_end]
    key = _keys.get(key_bytes) or _learn(key_bytes)
    value: AttributeValue
    length = raw[key_end + 1]
    if length >= _ONE_BYTE:
        value = _long_text(raw, key_end + 1, size)
    elif key_end + 2 + length != size or length < 2:
        value = None
    elif raw[key_end + 2] == _FIRST and raw[key_end + 3] == length - 2:
        value = raw[key_end + 4 :].decode()
    elif raw[key_end + 2] == _INTEGER:
        number, end = read_varint(raw, key_end + 3)
        value = number if end == size and number <= _LARGEST else None  # a negative one is written as one over it
    elif raw[key_end + 2] == _DOUBLE and length == 9:
        value = _unpack_double(raw, key_end + 3)[0]
    else:
        value = None
    if value is None:
        value = value_of(KeyValue.FromString(raw).value)
    if key.misses < MAX_MISSES and size <= MAX_KNOWN_BYTES:
        key.misses += 1
        if len(_known) >= MAX_KNOWN:
            _known.clear()
        _known[raw] = key.text, value
    return key.text, value


def _long_text(raw: bytes, at: int, size: int) -> str | None:
    """A text from the length of its AnyValue on, which takes several bytes; None where it is no such text."""
    whole, at = read_varint(raw, at)
    if at + whole != size or not whole or raw[at] != _FIRST:
        return None
    length, at = read_varint(raw, at + 1)
    return raw[at:].decode() if at + length == size else None


def _learn(key_bytes: bytes) -> _Key:
    if len(_keys) >= MAX_KEYS:
        _keys.clear()
    key = _keys[key_bytes] = _Key(key_bytes.decode(errors="replace"))
    return key


def _read_message(raw: bytes) -> tuple[str, AttributeValue]:
    pair = KeyValue.FromString(raw)
    return pair.key, value_of(pair.value)


def attributes_of(pairs: Iterable[Any]) -> dict[str, AttributeValue]:
    """Attributes that come as messages."""
    return {pair.key: value_of(pair.value) for pair in pairs}


def value_of(value: Any) -> AttributeValue:
    """An OTLP AnyValue as a Python value; unset is None."""
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [item.string_value or value_of(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return attributes_of(value.kvlist_value.values)
    return getattr(value, kind)  # type: ignore[no-any-return]

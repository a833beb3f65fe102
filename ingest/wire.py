"""Protobuf by hand where the library would copy: laying ready-made messages into one another, and walking
a message's fields without decoding them."""

from __future__ import annotations

from collections.abc import Iterator

LENGTH_DELIMITED = 2


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field: tag, length, content."""
    return varint(number << 3 | LENGTH_DELIMITED) + varint(len(content)) + content


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(number, wire type, content) of each field of a message. Scalars come with their raw bytes.

    Raises ValueError where the bytes are no protobuf message.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("field number 0")
        start = at
        if wire == 0:
            _, at = read_varint(data, at)
        elif wire == 1:
            at += 8
        elif wire == LENGTH_DELIMITED:
            size, start = read_varint(data, at)
            at = start + size
        elif wire == 5:
            at += 4
        else:
            raise ValueError(f"wire type {wire}")
        if at > end:
            raise ValueError("the message ends within a field")
        yield number, wire, data[start:at]


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends. Raises ValueError where there is none."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a broken varint")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7

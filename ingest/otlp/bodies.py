"""From what came over the wire to the bytes that were meant, with a limit on both."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import zstandard

from ingest.otlp.errors import BadData, BodyTooLarge, UnsupportedType

STEP_BYTES = 1 << 20
ZSTD_STEP_BYTES = 256
JOINED_MOST = 100
CUT = "the compressed body ends too early; was it cut on the way?"


def decompress(body: bytes, encoding: str, limit_bytes: int) -> bytes:
    """The body without its content encoding, never more than ``limit_bytes``.

    Raises BodyTooLarge before a bomb has unfolded, BadData for a broken stream, UnsupportedType for an
    encoding other than gzip, deflate, zstd and identity.
    """
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding in ("gzip", "x-gzip"):
        return _inflate(body, lambda: zlib.decompressobj(wbits=31), limit_bytes)
    if encoding == "deflate":
        # RFC 9110 means a zlib stream; some clients send bare deflate.
        wbits = 15 if body[:1] and body[0] & 0x0F == 8 else -15
        return _inflate(body, lambda: zlib.decompressobj(wbits=wbits), limit_bytes)
    if encoding == "zstd":
        return _unzstd(body, limit_bytes)
    raise UnsupportedType(f"content-encoding {encoding!r} is not read here; use gzip, deflate, zstd or none")


def _inflate(body: bytes, fresh: Callable[[], zlib._Decompress], limit_bytes: int) -> bytes:
    """Unfold one or, as gzip allows, several joined streams."""
    parts: list[bytes] = []
    size, rest, streams = 0, body, 0
    try:
        while rest:
            streams += 1
            if streams > JOINED_MOST:  # each costs a copy of all that follows it
                raise BadData(f"the body joins more than {JOINED_MOST} compressed streams; send one")
            stream = fresh()
            while not stream.eof:
                part = stream.decompress(rest, STEP_BYTES)
                rest = stream.unconsumed_tail
                size += len(part)
                if size > limit_bytes:
                    raise BodyTooLarge(_too_large(limit_bytes))
                parts.append(part)
                if not part and not rest and not stream.eof:
                    raise BadData(CUT)
            rest = stream.unused_data
    except zlib.error as error:
        raise BadData(f"the body cannot be decompressed: {error}") from error
    return b"".join(parts)


def _unzstd(body: bytes, limit_bytes: int) -> bytes:
    """Unfold one frame. Fed in small steps, since a few bytes can stand for a block of 128 KiB."""
    parts: list[bytes] = []
    size = 0
    stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
    try:
        for start in range(0, len(body), ZSTD_STEP_BYTES):
            part = stream.decompress(body[start : start + ZSTD_STEP_BYTES])
            size += len(part)
            if size > limit_bytes:
                raise BodyTooLarge(_too_large(limit_bytes))
            parts.append(part)
            if stream.eof:
                break
    except zstandard.ZstdError as error:
        raise BadData(f"the body cannot be decompressed: {error}") from error
    if body and not stream.eof:
        raise BadData(CUT)
    return b"".join(parts)


def _too_large(limit_bytes: int) -> str:
    return (
        f"the body is over {limit_bytes >> 20} MiB after decompression; send smaller batches "
        "or raise SIXSTAGE_BODY_LIMIT_MIB"
    )

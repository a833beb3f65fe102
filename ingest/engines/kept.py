"""How a sample's numbers are kept: as float64 under zstd, like bytes by like, so that little is left."""

from __future__ import annotations

from array import array

import zstandard

_LEVEL = 3
_compress = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False).compress
_unfold = zstandard.ZstdDecompressor().decompress


def fold(values: array[float]) -> bytes:
    """Numbers of one scrape, each value's bytes apart by their place in it: like stands by like."""
    plain = values.tobytes()
    return _compress(b"".join(plain[place::8] for place in range(8)))


def unfold(body: bytes) -> array[float]:
    apart = _unfold(bytes(body))
    n = len(apart) // 8
    plain = bytearray(len(apart))
    for place in range(8):
        plain[place::8] = apart[place * n : (place + 1) * n]
    values = array("d")
    values.frombytes(bytes(plain))
    return values

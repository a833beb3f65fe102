"""Content encodings: what clients really send, and what an attacker would."""

from __future__ import annotations

import gzip
import zlib

import pytest
import zstandard

from ingest.otlp.bodies import decompress
from ingest.otlp.errors import BadData, BodyTooLarge, UnsupportedType

LIMIT_BYTES = 1 << 20
BODY = b"a batch of spans " * 1000


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("", BODY),
        ("identity", BODY),
        ("gzip", gzip.compress(BODY)),
        ("GZIP ", gzip.compress(BODY)),
        ("gzip", gzip.compress(BODY[:900]) + gzip.compress(BODY[900:])),
        ("deflate", zlib.compress(BODY)),
        ("deflate", zlib.compress(BODY)[2:-4]),  # bare, as some clients send it
        ("zstd", zstandard.compress(BODY)),
    ],
    ids=["none", "identity", "gzip", "gzip in capitals", "gzip in two members", "deflate", "bare deflate", "zstd"],
)
def test_it_unfolds_what_clients_send(encoding: str, sent: bytes) -> None:
    assert decompress(sent, encoding, LIMIT_BYTES) == BODY


@pytest.mark.parametrize("fold", [gzip.compress, zlib.compress, zstandard.compress])
def test_a_bomb_is_refused_once_it_is_over_the_limit(fold) -> None:
    encoding = {gzip.compress: "gzip", zlib.compress: "deflate"}.get(fold, "zstd")
    with pytest.raises(BodyTooLarge, match="after decompression"):
        decompress(fold(bytes(50 << 20)), encoding, LIMIT_BYTES)


def test_a_body_of_just_the_limit_is_taken() -> None:
    assert len(decompress(gzip.compress(bytes(LIMIT_BYTES)), "gzip", LIMIT_BYTES)) == LIMIT_BYTES


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_cut_on_the_way_is_bad_data(encoding: str) -> None:
    whole = gzip.compress(BODY) if encoding == "gzip" else zlib.compress(BODY)
    with pytest.raises(BadData):
        decompress(whole[:-20], encoding, LIMIT_BYTES)


def test_plain_bytes_called_gzip_are_bad_data() -> None:
    with pytest.raises(BadData, match="cannot be decompressed"):
        decompress(BODY, "gzip", LIMIT_BYTES)


def test_an_encoding_that_is_not_read_is_named_with_those_that_are() -> None:
    with pytest.raises(UnsupportedType, match=r"'br'.*gzip"):
        decompress(BODY, "br", LIMIT_BYTES)

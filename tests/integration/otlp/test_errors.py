"""What a receiver answers to bad input: a google.rpc.Status in the request's own encoding that says what to do."""

from __future__ import annotations

import gzip
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import httpx
import pytest
import zstandard

from tests.integration.otlp.messages import (
    JSON,
    PROTOBUF,
    body,
    json_span,
    json_traces,
    logs,
    partial,
    raw_traces,
    span,
    status_of,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
async def the_next_good_request_works(web: httpx.AsyncClient, rows) -> AsyncIterator[None]:
    """After whatever a test has sent, a good batch is taken and stored."""
    yield
    good = span()
    assert partial(await web.post("/v1/traces", content=body(good), headers=PROTOBUF)) == (0, "")
    assert len(rows("SELECT 1 FROM ingest_chunk WHERE trace_id = %s", good.trace_id)) == 1


@pytest.mark.parametrize("cut", [1, 20, -1])
async def test_a_truncated_protobuf_is_400(web: httpx.AsyncClient, cut: int) -> None:
    response = await web.post("/v1/traces", content=body(span(), span())[:cut], headers=PROTOBUF)
    code, message = status_of(response)
    assert (response.status_code, code) == (400, 3)
    assert response.headers["content-type"] == "application/x-protobuf"
    assert "cut on the way" in message


@pytest.mark.parametrize("content", [b"{", b"[1]", b"true", b'"text"', b"\xff\xfe{", b"[" * 100_000])
async def test_what_is_no_json_object_is_400_in_json(web: httpx.AsyncClient, content: bytes) -> None:
    response = await web.post("/v1/traces", content=content, headers=JSON)
    assert response.status_code == 400
    assert response.headers["content-type"] == "application/json"
    assert status_of(response)[0] == 3


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "application/grpc", ""])
async def test_another_content_type_is_415_and_names_ours(web: httpx.AsyncClient, kind: str) -> None:
    response = await web.post("/v1/traces", content=body(span()), headers={"content-type": kind})
    assert response.status_code == 415
    assert "application/x-protobuf" in status_of(response)[1]


async def test_an_unknown_content_encoding_is_415_and_names_ours(web: httpx.AsyncClient) -> None:
    headers = PROTOBUF | {"content-encoding": "br"}
    response = await web.post("/v1/traces", content=body(span()), headers=headers)
    assert response.status_code == 415
    assert "gzip" in status_of(response)[1]


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
@pytest.mark.parametrize("kept", [0.3, 0.9])
async def test_a_truncated_stream_is_400(web: httpx.AsyncClient, encoding: str, kept: float) -> None:
    whole = body(*(span(str(number)) for number in range(50)))
    squeeze = {"gzip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress}[encoding]
    packed = squeeze(whole)
    headers = PROTOBUF | {"content-encoding": encoding}
    response = await web.post("/v1/traces", content=packed[: int(len(packed) * kept)], headers=headers)
    assert response.status_code == 400
    assert "cut on the way" in status_of(response)[1]


async def test_what_is_not_gzip_at_all_is_400(web: httpx.AsyncClient) -> None:
    headers = PROTOBUF | {"content-encoding": "gzip"}
    response = await web.post("/v1/traces", content=body(span()), headers=headers)
    assert response.status_code == 400
    assert "decompress" in status_of(response)[1]


def bomb(mib: int) -> bytes:
    """A gzip stream of that many MiB of zeros, made without compressing more than one of them."""
    squeeze = zlib.compressobj(9, wbits=-15)
    piece = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return bytes.fromhex("1f8b08000000000000ff") + piece * mib


async def test_a_bomb_of_1_gib_is_413_before_it_has_unfolded(web: httpx.AsyncClient) -> None:
    headers, content = PROTOBUF | {"content-encoding": "gzip"}, bomb(1024)
    assert len(content) < 2 << 20
    tracemalloc.start()
    try:
        began = time.monotonic()
        response = await web.post("/v1/traces", content=content, headers=headers)
        took_s, (_, peak) = time.monotonic() - began, tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response.status_code == 413
    assert "smaller batches" in status_of(response)[1]
    assert peak < 80 << 20
    assert took_s < 3


async def test_a_zstd_bomb_is_413_too(web: httpx.AsyncClient, settings) -> None:
    settings.SIXSTAGE_BODY_LIMIT_BYTES = 1 << 20
    content = zstandard.compress(bytes(256 << 20))
    tracemalloc.start()
    try:
        response = await web.post("/v1/traces", content=content, headers=PROTOBUF | {"content-encoding": "zstd"})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response.status_code == 413
    assert peak < 32 << 20


async def test_a_gzip_of_countless_empty_members_is_refused_fast(web: httpx.AsyncClient) -> None:
    began = time.monotonic()
    content = gzip.compress(b"") * 400_000
    response = await web.post("/v1/traces", content=content, headers=PROTOBUF | {"content-encoding": "gzip"})
    assert response.status_code == 400
    assert time.monotonic() - began < 3


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_of_65_mib_is_413(web: httpx.AsyncClient, announced: bool) -> None:
    piece = bytes(1 << 20)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(65):
            yield piece

    content = bytes(65 << 20) if announced else pieces()
    response = await web.post("/v1/traces", content=content, headers=PROTOBUF)
    code, message = status_of(response)
    assert (response.status_code, code) == (413, 8)
    assert "64 MiB" in message
    assert "SIXSTAGE_BODY_LIMIT_MIB" in message


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("path", ["/v1/traces", "/v1/metrics", "/v1/logs"])
async def test_another_method_is_405_and_says_post(web: httpx.AsyncClient, method: str, path: str) -> None:
    response = await web.request(method, path)
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
async def test_logs_sent_to_the_traces_path_are_400_that_names_theirs(web: httpx.AsyncClient, headers: dict) -> None:
    record = {"timeUnixNano": "1", "body": {"stringValue": "hello"}}
    as_json = b'{"resourceLogs":[{"scopeLogs":[{"logRecords":[%s]}]}]}' % str(record).replace("'", '"').encode()
    content = logs() if headers is PROTOBUF else as_json
    response = await web.post("/v1/traces", content=content, headers=headers)
    assert response.status_code == 400
    assert "/v1/logs" in status_of(response)[1]


async def test_spans_sent_to_the_logs_path_are_400_that_names_theirs(web: httpx.AsyncClient) -> None:
    for content, headers in ((body(span()), PROTOBUF), (json_traces(json_span()), JSON)):
        response = await web.post("/v1/logs", content=content, headers=headers)
        assert response.status_code == 400
        assert "/v1/traces" in status_of(response)[1]


@pytest.mark.parametrize("content", [b"not protobuf", raw_traces(b"\xff" * 40), b"\x00" * 64])
async def test_bytes_without_structure_are_400_or_cost_only_themselves(web: httpx.AsyncClient, content: bytes) -> None:
    response = await web.post("/v1/traces", content=content, headers=PROTOBUF)
    if response.status_code == 200:
        assert partial(response)[0] == 1
    else:
        assert response.status_code == 400

"""What is taken: every encoding, odd but legal content, and the good part of a batch that is partly bad."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import httpx
import pytest
import zstandard
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from ingest import wire
from ingest.chunks import spans_of
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
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stored(rows):
    """The spans of a trace as they lie in the database."""

    def read(trace_id: bytes) -> list[Any]:
        found = rows("SELECT body FROM ingest_chunk WHERE trace_id = %s", trace_id)
        return [one for row in found for one in spans_of(row["body"], trace_id.hex())]

    return read


@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
async def test_an_empty_body_is_success(web: httpx.AsyncClient, headers: dict) -> None:
    for path in ("/v1/traces", "/v1/metrics", "/v1/logs"):
        response = await web.post(path, content=b"", headers=headers)
        assert response.status_code == 200
        assert response.content == (b"" if headers is PROTOBUF else b"{}")
        assert response.headers["content-type"] == headers["content-type"]


async def test_an_empty_envelope_is_success(web: httpx.AsyncClient) -> None:
    assert partial(await web.post("/v1/traces", content=b"{}", headers=JSON)) == (0, "")
    assert partial(await web.post("/v1/traces", content=b'{"resourceSpans":[]}', headers=JSON)) == (0, "")
    assert partial(await web.post("/v1/traces", content=raw_traces(), headers=PROTOBUF)) == (0, "")


ENCODINGS = {
    "identity": bytes,
    "gzip": gzip.compress,
    "GZIP": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
async def test_it_reads_each_content_encoding(web: httpx.AsyncClient, stored, encoding: str, headers: dict) -> None:
    one, other = span(), json_span()
    content = body(one) if headers is PROTOBUF else json_traces(other)
    sent = await web.post(
        "/v1/traces", content=ENCODINGS[encoding](content), headers=headers | {"content-encoding": encoding}
    )
    assert partial(sent) == (0, "")
    assert len(stored(one.trace_id if headers is PROTOBUF else bytes.fromhex(other["traceId"]))) == 1


async def test_it_reads_bare_deflate_joined_gzip_members_and_streamed_zstd(web: httpx.AsyncClient, stored) -> None:
    one = span()
    content = body(one)
    bare = zlib.compressobj(wbits=-15)
    streamed = zstandard.ZstdCompressor().compressobj()
    for encoding, packed in (
        ("deflate", bare.compress(content) + bare.flush()),
        ("gzip", gzip.compress(content[:10]) + gzip.compress(content[10:])),
        ("zstd", streamed.compress(content) + streamed.flush()),
    ):
        sent = await web.post("/v1/traces", content=packed, headers=PROTOBUF | {"content-encoding": encoding})
        assert partial(sent) == (0, ""), encoding
    assert len(stored(one.trace_id)) == 1


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "Application/JSON;charset=UTF-8"])
async def test_it_tolerates_a_charset(web: httpx.AsyncClient, kind: str) -> None:
    response = await web.post("/v1/traces", content=json_traces(json_span()), headers={"content-type": kind})
    assert partial(response) == (0, "")


@pytest.mark.parametrize("path", ["/v1/traces/", "/api/public/otel/v1/traces"])
async def test_other_spellings_of_the_path_lead_to_the_same_place(web: httpx.AsyncClient, stored, path: str) -> None:
    one = span()
    assert partial(await web.post(path, content=body(one), headers=PROTOBUF)) == (0, "")
    assert len(stored(one.trace_id)) == 1


async def test_all_zero_ids_cost_their_span_alone(web: httpx.AsyncClient, stored) -> None:
    good = span()
    bad = [span(trace_id=bytes(16)), span(span_id=bytes(8)), span(trace_id=b"short"), span(span_id=b"")]
    count, message = partial(await web.post("/v1/traces", content=body(*bad, good), headers=PROTOBUF))
    assert count == 4
    assert "all zeros" in message
    assert len(stored(good.trace_id)) == 1


async def test_base64_ids_in_json_are_told_that_ids_are_hex(web: httpx.AsyncClient, stored) -> None:
    good = json_span()
    bad = json_span(traceId=base64.b64encode(bytes(range(16))).decode())
    count, message = partial(await web.post("/v1/traces", content=json_traces(bad, good), headers=JSON))
    assert count == 1
    assert "hex" in message
    assert "base64" in message
    assert len(stored(bytes.fromhex(good["traceId"]))) == 1


async def test_hex_ids_may_be_in_upper_case(web: httpx.AsyncClient, stored) -> None:
    one = json_span()
    upper = one | {"traceId": one["traceId"].upper(), "spanId": one["spanId"].upper()}
    assert partial(await web.post("/v1/traces", content=json_traces(upper), headers=JSON)) == (0, "")
    assert len(stored(bytes.fromhex(one["traceId"]))) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"links": ["a link that is text"]},
        {"links": 5},
        {"attributes": [{"key": "k", "value": {"intValue": "many"}}]},
        {"startTimeUnixNano": "-1"},
        {"name": {"not": "text"}},
        {"name": "\ud800"},
        {"traceId": 7},
        {"traceId": ["00"]},
    ],
)
async def test_an_odd_span_in_json_costs_itself_alone(web: httpx.AsyncClient, stored, odd: dict) -> None:
    before, after = json_span(), json_span()
    content = json_traces(before, json_span(**odd), after)
    assert partial(await web.post("/v1/traces", content=content, headers=JSON))[0] == 1
    assert len(stored(bytes.fromhex(before["traceId"]))) == 1
    assert len(stored(bytes.fromhex(after["traceId"]))) == 1


@pytest.mark.parametrize("content", [b'{"resource_spans": [{"scope_spans": []}]}', b'{"spans": []}'])
async def test_json_that_decodes_to_nothing_earns_a_remark(web: httpx.AsyncClient, content: bytes) -> None:
    count, message = partial(await web.post("/v1/traces", content=content, headers=JSON))
    assert count == 0
    assert "lowerCamelCase" in message


async def test_unknown_fields_are_ignored_in_either_encoding(web: httpx.AsyncClient, stored) -> None:
    one = span()
    unknown = wire.field(999, b"from the future")
    content = raw_traces(one.SerializeToString() + unknown) + unknown
    assert partial(await web.post("/v1/traces", content=content, headers=PROTOBUF)) == (0, "")
    other = json_span(fromTheFuture={"deep": [1, 2]})
    assert partial(await web.post("/v1/traces", content=json_traces(other), headers=JSON)) == (0, "")
    assert len(stored(one.trace_id)) == len(stored(bytes.fromhex(other["traceId"]))) == 1


async def test_text_that_is_not_utf8_costs_its_span_alone(web: httpx.AsyncClient, stored) -> None:
    good, bad = span(), span()
    broken = bad.SerializeToString() + wire.field(5, b"caf\xe9")
    content = raw_traces(good.SerializeToString(), broken)
    count, message = partial(await web.post("/v1/traces", content=content, headers=PROTOBUF))
    assert count == 1
    assert "UTF-8" in message
    assert len(stored(good.trace_id)) == 1
    assert stored(bad.trace_id) == []


def nested(depth: int) -> AnyValue:
    value = AnyValue(string_value="here")
    for _ in range(depth):
        outer = AnyValue()
        outer.array_value.values.append(value)
        value = outer
    return value


async def test_values_nested_too_deep_cost_their_span_alone(web: httpx.AsyncClient, stored) -> None:
    good, deep = span(), span()
    deep.attributes.add(key="ten").value.CopyFrom(nested(10))
    packed = wire.field(1, b"k") + wire.field(2, too_deep())
    content = raw_traces(
        good.SerializeToString(), span().SerializeToString() + wire.field(9, packed), deep.SerializeToString()
    )
    assert partial(await web.post("/v1/traces", content=content, headers=PROTOBUF))[0] == 1
    assert len(stored(good.trace_id)) == len(stored(deep.trace_id)) == 1


def too_deep() -> bytes:
    """An AnyValue of 500 lists within one another, by hand, since no library would write it."""
    value = wire.field(1, b"here")
    for _ in range(500):
        value = wire.field(5, wire.field(1, value))
    return value


async def test_deep_json_costs_its_span_alone(web: httpx.AsyncClient, stored) -> None:
    good, value = json_span(), {"stringValue": "here"}
    for _ in range(300):
        value = {"arrayValue": {"values": [value]}}
    deep = json_span(attributes=[{"key": "k", "value": value}])
    count, _ = partial(await web.post("/v1/traces", content=json_traces(deep, good), headers=JSON))
    assert count == 1
    assert len(stored(bytes.fromhex(good["traceId"]))) == 1


async def test_odd_but_legal_content_is_kept_as_sent(web: httpx.AsyncClient, stored) -> None:
    spans = [
        span("nul\x00inside", attributes={"nul\x00key": "nul\x00value"}),
        span("in 1970", start_time_unix_nano=1, end_time_unix_nano=2),
        span("in 2554", start_time_unix_nano=2**64 - 2, end_time_unix_nano=2**64 - 1),
        span("ends before it starts", end_time_unix_nano=5),
        span("no times", start_time_unix_nano=0, end_time_unix_nano=0),
        span("unknown kind", kind=99),
        span("", attributes={"": ""}),
        span("x" * 1_000_000),
    ]
    assert partial(await web.post("/v1/traces", content=body(*spans), headers=PROTOBUF)) == (0, "")
    for sent in spans:
        (kept,) = stored(sent.trace_id)
        assert kept.name == sent.name
        assert kept.start_unix_ns == sent.start_time_unix_nano
        assert kept.end_unix_ns == sent.end_time_unix_nano


async def test_hostile_dates_make_no_partitions(web: httpx.AsyncClient, rows) -> None:
    count = "SELECT count(*) AS n FROM pg_inherits"
    before = rows(count)
    spans = [span(start_time_unix_nano=day * 86_400 * 10**9, end_time_unix_nano=0) for day in range(0, 200_000, 5_000)]
    assert partial(await web.post("/v1/traces", content=body(*spans), headers=PROTOBUF)) == (0, "")
    assert rows(count) == before


async def test_metrics_and_logs_are_stored_too(web: httpx.AsyncClient, rows) -> None:
    one = span()
    metric = {"name": "m", "gauge": {"dataPoints": [{"asDouble": 1.5, "timeUnixNano": "1"}]}}
    content = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]})
    assert (await web.post("/v1/metrics", content=content, headers=JSON)).content == b"{}"
    assert (await web.post("/v1/logs", content=logs("loose"), headers=PROTOBUF)).content == b""
    in_a_trace = logs("in a trace", trace_id=one.trace_id, span_id=one.span_id)
    assert (await web.post("/v1/logs", content=in_a_trace, headers=PROTOBUF)).content == b""
    assert sorted(row["signal"] for row in rows("SELECT signal FROM ingest_body")) == [2, 3]
    assert [row["signal"] for row in rows("SELECT signal FROM ingest_chunk")] == [3]

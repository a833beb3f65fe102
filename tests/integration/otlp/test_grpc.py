"""OTLP over gRPC, by a real client on a real port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode, aio
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2_grpc import LogsServiceStub
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2_grpc import MetricsServiceStub
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from ingest.models import IngestKey, Project
from ingest.otlp import grpc_service
from ingest.otlp.errors import StoreUnavailable
from ingest.otlp.grpc_service import make_server
from ingest.otlp.receiver import Receiver
from tests.integration.otlp.messages import logs, span, traces
from tests.ports import free_ports

pytestmark = pytest.mark.django_db(transaction=True)
TRACES = f"/{grpc_service.SERVICES[1]}/Export"


@pytest.fixture
def key(project: Project) -> str:
    return IngestKey.issue(project, "a key")[1]


@pytest.fixture
async def channel(receiver: Receiver, settings: Any) -> AsyncIterator[aio.Channel]:
    """A channel to a server of this test's own. Its limit is 1 MiB, to keep large messages small."""
    settings.SIXSTAGE_BODY_LIMIT_BYTES = 1 << 20
    address = f"127.0.0.1:{free_ports()['SIXSTAGE_OTLP_GRPC_PORT']}"
    server = make_server(receiver, address)
    await server.start()
    async with aio.insecure_channel(address) as channel:
        yield channel
    await server.stop(None)


async def refused(call: Any) -> tuple[StatusCode, str, float | None]:
    """(code, message, seconds of RetryInfo or None) of a call that must fail."""
    with pytest.raises(aio.AioRpcError) as caught:
        await call
    error, delay = caught.value, None
    for name, value in error.trailing_metadata():
        if name == "grpc-status-details-bin":
            status = Status.FromString(value)
            assert status.code == error.code().value[0]
            assert status.message == error.details()
            for detail in status.details:
                info = RetryInfo()
                assert detail.Unpack(info)
                delay = info.retry_delay.seconds
    return error.code(), error.details(), delay


async def test_all_three_signals_are_taken(channel: aio.Channel, rows) -> None:
    answer = await TraceServiceStub(channel).Export(traces(span(), span()))
    assert not answer.HasField("partial_success")
    metrics = ExportMetricsServiceRequest()
    metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="m").gauge.data_points.add(as_int=1)
    assert not (await MetricsServiceStub(channel).Export(metrics)).HasField("partial_success")
    records = ExportLogsServiceRequest.FromString(logs())
    assert not (await LogsServiceStub(channel).Export(records)).HasField("partial_success")
    assert len(rows("SELECT 1 FROM ingest_chunk")) == 2
    assert len(rows("SELECT 1 FROM ingest_body")) == 2


async def test_an_empty_request_is_success(channel: aio.Channel) -> None:
    assert await TraceServiceStub(channel).Export(traces()) == ExportTraceServiceResponse()


async def test_gzip_is_read(channel: aio.Channel, rows) -> None:
    await TraceServiceStub(channel).Export(traces(span()), compression=grpc.Compression.Gzip)
    assert len(rows("SELECT 1 FROM ingest_chunk")) == 1


async def test_a_bad_span_costs_itself_alone(channel: aio.Channel, rows) -> None:
    answer = await TraceServiceStub(channel).Export(traces(span(), span(trace_id=bytes(16))))
    assert answer.partial_success.rejected_spans == 1
    assert "all zeros" in answer.partial_success.error_message
    assert len(rows("SELECT 1 FROM ingest_chunk")) == 1


async def test_broken_bytes_are_an_invalid_argument(channel: aio.Channel) -> None:
    code, message, delay = await refused(channel.unary_unary(TRACES)(b"\xff\xff not protobuf"))
    assert (code, delay) == (StatusCode.INVALID_ARGUMENT, None)
    assert "protobuf" in message


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_a_message_over_the_limit_is_not_to_be_sent_again(channel: aio.Channel, compression: Any) -> None:
    large = traces(span("x" * (2 << 20)))
    code, _, delay = await refused(TraceServiceStub(channel).Export(large, compression=compression))
    assert (code, delay) == (StatusCode.RESOURCE_EXHAUSTED, None)
    await TraceServiceStub(channel).Export(traces(span()))


async def test_a_missing_or_wrong_key_is_unauthenticated(channel: aio.Channel, receiver: Receiver, key: str) -> None:
    receiver.keys.open_instance = False
    export = TraceServiceStub(channel).Export
    for metadata in ((), (("authorization", "Bearer sxi_wrong"),), (("x-api-key", "sxr_token"),)):
        code, message, delay = await refused(export(traces(span()), metadata=metadata))
        assert (code, delay) == (StatusCode.UNAUTHENTICATED, None)
        assert "key" in message
    for metadata in ((("authorization", f"Bearer {key}"),), (("x-api-key", key),)):
        await export(traces(span()), metadata=metadata)


async def test_under_pressure_it_says_when_to_come_back(channel: aio.Channel, receiver: Receiver) -> None:
    receiver.store.pending_bytes = receiver.store.pending_limit_bytes
    try:
        code, message, delay = await refused(TraceServiceStub(channel).Export(traces(span())))
    finally:
        receiver.store.pending_bytes = 0
    assert code == StatusCode.UNAVAILABLE
    assert delay in (1, 2)
    assert "send again" in message
    await TraceServiceStub(channel).Export(traces(span()))


async def test_with_the_database_away_it_says_when_to_come_back(
    channel: aio.Channel, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        raise StoreUnavailable("the database is not reachable")

    monkeypatch.setattr(receiver.store, "keep", away)
    code, _, delay = await refused(TraceServiceStub(channel).Export(traces(span())))
    assert code == StatusCode.UNAVAILABLE
    assert delay in (2, 3)


async def test_too_many_at_once_are_told_to_come_back(
    channel: aio.Channel, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grpc_service, "CONCURRENT_MOST", 1)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def wait(*_: object) -> None:
        entered.set()
        await leave.wait()

    monkeypatch.setattr(receiver.store, "keep", wait)
    export = TraceServiceStub(channel).Export
    first = asyncio.ensure_future(export(traces(span())))
    await entered.wait()
    code, _, delay = await refused(export(traces(span())))
    assert code == StatusCode.UNAVAILABLE
    assert delay in (1, 2)
    leave.set()
    await first


async def test_an_unknown_method_is_unimplemented(channel: aio.Channel) -> None:
    code, _, _ = await refused(channel.unary_unary(f"/{grpc_service.SERVICES[1]}/Import")(b""))
    assert code == StatusCode.UNIMPLEMENTED


async def test_a_port_in_use_is_told(receiver: Receiver) -> None:
    address = f"127.0.0.1:{free_ports()['SIXSTAGE_OTLP_GRPC_PORT']}"
    server = make_server(receiver, address)
    await server.start()
    try:
        with pytest.raises(RuntimeError, match=r"127\.0\.0\.1"):
            make_server(receiver, address)
    finally:
        await server.stop(None)

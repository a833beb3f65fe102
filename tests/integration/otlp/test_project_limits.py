"""A project over its limits is told when to come back; the others notice nothing, and nothing taken is lost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import StatusCode, aio
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import TraceServiceStub

from ingest.models import IngestKey, Project, ProjectDay
from ingest.otlp import keys, quotas
from ingest.otlp.errors import OverLimit, StoreUnavailable
from ingest.otlp.grpc_service import make_server
from ingest.otlp.keys import Rules
from ingest.otlp.quotas import Quotas
from ingest.otlp.receiver import Receiver
from ingest.store import Store
from tests.integration.otlp.messages import PROTOBUF, body, logs, span, status_of, traces
from tests.ports import free_ports

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now_s = [1000.0]
    monkeypatch.setattr(quotas.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(keys.time, "monotonic", lambda: now_s[0])
    return now_s


async def send(web: httpx.AsyncClient, spans: int, **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return await web.post("/v1/traces", content=body(*(span() for _ in range(spans))), headers=PROTOBUF | named)


async def test_over_its_spans_a_second_a_project_gets_429_and_a_time(
    web: httpx.AsyncClient, project: Project, clock: list[float], rows: Any
) -> None:
    await Project.objects.aupdate(spans_per_s=10)
    assert (await send(web, 60)).status_code == 200
    assert (await send(web, 60)).status_code == 200  # 100 may come at once, and what was let in is let in whole
    response = await send(web, 1)
    code, message = status_of(response)
    assert (response.status_code, code) == (429, 8)
    assert 2 <= int(response.headers["retry-after"]) <= 4
    assert "10 spans a second" in message
    assert (await web.post("/v1/logs", content=logs(), headers=PROTOBUF)).status_code == 429
    clock[0] += 2.2
    assert (await send(web, 1)).status_code == 200
    assert len(rows("SELECT 1 FROM ingest_chunk")) == 121


async def test_another_project_is_not_held_up(web: httpx.AsyncClient, project: Project, clock: list[float]) -> None:
    await Project.objects.aupdate(spans_per_s=1)
    other = await Project.objects.acreate(slug="beta", name="Beta")
    secret = "sxi_" + "b" * 43
    await IngestKey.objects.acreate(project=other, name="b", hint="sxi_b", digest=keys.secret_digest(secret))
    assert (await send(web, 50)).status_code == 200
    assert (await send(web, 1)).status_code == 429
    assert (await send(web, 50, x_api_key=secret)).status_code == 200


async def test_a_changed_limit_holds_after_some_seconds(
    web: httpx.AsyncClient, project: Project, clock: list[float]
) -> None:
    assert (await send(web, 500)).status_code == 200
    await Project.objects.aupdate(spans_per_s=1)
    clock[0] += keys.CACHED_S + 0.1
    assert (await send(web, 11)).status_code == 200
    assert (await send(web, 1)).status_code == 429
    await Project.objects.aupdate(spans_per_s=None)
    clock[0] += keys.CACHED_S + 0.1
    assert (await send(web, 500)).status_code == 200


async def test_what_was_not_stored_does_not_count(
    web: httpx.AsyncClient, project: Project, receiver: Receiver, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    await Project.objects.aupdate(spans_per_s=1)

    async def away(*_: object) -> None:
        raise StoreUnavailable("the database is not reachable")

    with monkeypatch.context() as patch:
        patch.setattr(receiver.store, "keep", away)
        for _ in range(3):
            assert (await send(web, 9)).status_code == 503
    assert (await send(web, 9)).status_code == 200


async def test_bytes_of_a_day_are_counted_by_all_receivers_together(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = Rules(project.pk, bytes_per_day=1000)
    one, other = Quotas(), Quotas()
    one.admit(rules)
    one.spend(rules, 1, 600)
    other.spend(rules, 1, 500)
    one.admit(rules)
    for receiver in (one, other):
        await receiver.share(store.pool)
    with pytest.raises(OverLimit, match="1000 bytes") as refused:
        other.admit(rules)
    assert refused.value.retry_after_s
    restarted = Quotas()
    restarted.admit(rules)
    await restarted.share(store.pool)
    with pytest.raises(OverLimit):
        restarted.admit(rules)
    assert (await ProjectDay.objects.aget()).bytes == 1100
    tomorrow = (await ProjectDay.objects.aget()).day.replace(year=2199)
    monkeypatch.setattr(quotas, "_today", lambda: tomorrow)
    restarted.admit(rules)


async def test_bytes_that_could_not_be_shared_are_shared_later(store: Store, project: Project) -> None:
    rules, mine = Rules(project.pk, bytes_per_day=1000), Quotas()
    mine.spend(rules, 1, 700)
    closed = Store("host=/nonexistent dbname=none", 1, lambda _: None)
    with pytest.raises(Exception):  # noqa: B017, PT011 (whatever a pool that is not open says)
        await mine.share(closed.pool)
    await mine.share(store.pool)
    assert (await ProjectDay.objects.aget()).bytes == 700


@pytest.fixture
async def channel(receiver: Receiver) -> AsyncIterator[aio.Channel]:
    address = f"127.0.0.1:{free_ports()['SIXSTAGE_OTLP_GRPC_PORT']}"
    server = make_server(receiver, address)
    await server.start()
    async with aio.insecure_channel(address) as channel:
        yield channel
    await server.stop(None)


async def test_grpc_clients_are_told_in_a_way_that_they_retry_on(channel: aio.Channel, project: Project) -> None:
    await Project.objects.aupdate(spans_per_s=1)
    export = TraceServiceStub(channel).Export
    await export(traces(*(span() for _ in range(30))))
    with pytest.raises(aio.AioRpcError) as refused:
        await export(traces(span()))
    assert refused.value.code() == StatusCode.RESOURCE_EXHAUSTED
    details = dict(refused.value.trailing_metadata())["grpc-status-details-bin"]
    info = RetryInfo()
    assert Status.FromString(details).details[0].Unpack(info)
    assert info.retry_delay.seconds >= 15

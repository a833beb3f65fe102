"""How soon a run is known to those who watch."""

import asyncio
import json
import time
from contextlib import suppress

import httpx
import redis
import redis.asyncio
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from websockets.asyncio.client import ClientConnection, connect

from tests.acceptance.sender import Sent, report_run
from tests.instance import Instance
from tests.polling import until

WITHIN_S = 2.0


async def test_a_span_is_announced_and_in_the_api_within_two_seconds(instance: Instance) -> None:
    async with connect(instance.socket, origin=instance.web) as socket:  # type: ignore[arg-type]
        assert json.loads(await socket.recv())["kind"] == "hello"
        sent = await asyncio.to_thread(_report, instance)
        acknowledged_s = time.monotonic()
        async with asyncio.timeout(20):  # a slow announcement is measured, a missing one is not waited for
            announced_s, shown_s = await asyncio.gather(_announced(socket, sent), _shown(instance, sent))

    assert announced_s - acknowledged_s <= WITHIN_S
    assert shown_s - acknowledged_s <= WITHIN_S


async def test_a_quiet_socket_still_gives_signs_of_life(instance: Instance) -> None:
    async with connect(instance.socket, origin=instance.web) as socket, asyncio.timeout(10):  # type: ignore[arg-type]
        while json.loads(await socket.recv())["kind"] != "beat":
            pass


async def test_the_first_page_after_the_broker_was_killed_listens_at_once(instance: Instance) -> None:
    """While nobody watches, nothing reads from the broker, so that only this page can find out."""
    async with redis.asyncio.Redis.from_url(instance.redis_url) as broker:
        async with connect(instance.socket, origin=instance.web) as socket:  # type: ignore[arg-type]
            await socket.recv()
        async with asyncio.timeout(20):
            while await broker.pubsub_channels():
                await asyncio.sleep(0.05)
        await asyncio.to_thread(_kill_broker, instance)

    async with asyncio.timeout(20), connect(instance.socket, origin=instance.web) as socket:  # type: ignore[arg-type]
        assert json.loads(await socket.recv())["kind"] == "hello"
        sent = await asyncio.to_thread(_report, instance)
        await _announced(socket, sent)


async def test_a_page_that_is_open_while_the_broker_is_killed_hears_of_runs_again(instance: Instance) -> None:
    async with asyncio.timeout(30), connect(instance.socket, origin=instance.web) as socket:  # type: ignore[arg-type]
        await asyncio.to_thread(_kill_broker, instance)
        while True:  # what is told before the page has subscribed again, nobody hears
            sent = await asyncio.to_thread(_report, instance)
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await _announced(socket, sent)
                    return


def _kill_broker(instance: Instance) -> None:
    """And wait for its successor."""
    instance.kill("valkey")
    until(lambda: _answers(instance.redis_url), 20, "the broker answers again")


def _answers(redis_url: str) -> bool:
    with redis.Redis.from_url(redis_url, retry=None) as broker:
        try:
            return bool(broker.ping())
        except redis.RedisError:
            return False


def _report(instance: Instance) -> Sent:
    exporter = OTLPSpanExporter(f"{instance.otlp_http}/v1/traces")
    try:
        return report_run(exporter, "watched-service")
    finally:
        exporter.shutdown()


async def _announced(socket: ClientConnection, sent: Sent) -> float:
    while True:
        said = json.loads(await socket.recv())
        if said["kind"] == "runs" and sent.run_id in said["run_ids"]:
            return time.monotonic()


async def _shown(instance: Instance, sent: Sent) -> float:
    async with httpx.AsyncClient(base_url=f"{instance.web}/api/v1") as client:
        while True:
            listed = (await client.get("/runs", params={"service": "watched-service"})).raise_for_status().json()
            if sent.run_id in [run["run_id"] for run in listed["runs"]]:
                return time.monotonic()
            await asyncio.sleep(0.05)

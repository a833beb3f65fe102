"""How soon a run is known to those who watch."""

import asyncio
import json
import time

import httpx
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from websockets.asyncio.client import ClientConnection, connect

from tests.acceptance.sender import Sent, report_run
from tests.instance import Instance

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

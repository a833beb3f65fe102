"""One rig for all agent tests."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from agents.clock import Clock
from agents.engine import Playbook, SimulatedEngine, serve
from agents.telemetry import Telemetry
from tests.unit.agents.otlp_collector import Collector
from tests.unit.agents.rig import MODEL, Rig

TLS = ssl.create_default_context()  # made once: loading the certificates takes longer than most tests
SPEED = 40  # a simulated second lasts 25 ms


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture
async def rig(collector: Collector) -> AsyncIterator[Rig]:
    playbook = Playbook(seed=1)
    with (
        Telemetry(
            "shop-support",
            version="1.2.3",
            environment="testing",
            endpoint=collector.url,
            simulated=True,
            capture_content=True,
        ) as telemetry,
        Telemetry("sim-engine", endpoint=collector.url, simulated=True) as own,
    ):
        engine = SimulatedEngine(MODEL, playbook, telemetry=own, clock=Clock(SPEED))
        async with serve(engine) as url, httpx.AsyncClient(trust_env=False, verify=TLS) as http:
            yield Rig(collector, telemetry, engine, own, playbook, http, url)

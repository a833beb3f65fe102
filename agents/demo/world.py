"""All that a demo needs while it runs: two engines, their models, connections, and telemetry per service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import httpx

from agents.chat import ChatModel
from agents.clock import Clock
from agents.demo.target import Target
from agents.demo.tools import Backends
from agents.engine import CostModel, Playbook, SimulatedEngine, serve
from agents.engine.core.profiles import SMALL
from agents.telemetry import Outage, Telemetry

LARGE_MODEL, SMALL_MODEL = "sim-70b", "sim-8b"


@dataclass
class World:
    """``large`` runs on an engine that sends spans; ``small`` is like a hosted API, which sends none."""

    target: Target
    clock: Clock
    random: Random
    playbook: Playbook
    http: httpx.AsyncClient
    outage: Outage
    large: ChatModel = field(init=False)
    small: ChatModel = field(init=False)
    backends: Backends = field(init=False)
    _telemetry: list[Telemetry] = field(default_factory=list)

    def telemetry(self, service: str, version: str, environment: str) -> Telemetry:
        """A sender for one deployed version of a service; closed with the world."""
        made = Telemetry(
            service,
            version=version,
            environment=environment,
            endpoint=self.target.endpoint,
            headers=self.target.headers,
            simulated=True,
            capture_content=True,
            content_limit=1_500,  # enough to read on a page; the coding agent's history has 7 K tokens
            every_s=0.5,  # pages are live
            close_s=10.0,  # a busy Sixstage may take its time; one that is known to be away is not waited for
            outage=self.outage,
        )
        self._telemetry.append(made)
        return made

    async def close(self) -> None:
        # Side by side: when nobody answers, each takes its two seconds.
        await asyncio.gather(*(asyncio.to_thread(telemetry.close) for telemetry in self._telemetry))


@asynccontextmanager
async def world(target: Target, *, seed: int, speed: float) -> AsyncIterator[World]:
    clock, random, playbook = Clock(speed), Random(seed), Playbook(seed=seed)
    limits = httpx.Limits(max_connections=100)
    # Only engines on this machine are called, so no proxy has a part in it.
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as http:
        made = World(target, clock, random, playbook, http, Outage(target.url))
        made.backends = Backends(clock, random)
        own = made.telemetry("sim-engine-70b", "", "production")
        large = SimulatedEngine(LARGE_MODEL, playbook, costs=CostModel(), telemetry=own, clock=clock)
        small = SimulatedEngine(SMALL_MODEL, playbook, costs=SMALL, clock=clock)
        try:
            async with serve(large) as large_url, serve(small) as small_url:
                parameters = {"temperature": 0.2, "max_tokens": 1024}
                made.large = ChatModel(
                    name=LARGE_MODEL, base_url=large_url, http=http, provider="vllm", parameters=parameters
                )
                made.small = ChatModel(
                    name=SMALL_MODEL,
                    base_url=small_url,
                    http=http,
                    provider="sim-hosted",
                    parameters=parameters,
                )
                yield made
        finally:
            await made.close()

"""All that a demo needs while it runs: three engines, their models, connections, and telemetry per service."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random

import httpx

from agents.chat import ChatModel
from agents.clock import Clock
from agents.demo.target import Target
from agents.demo.tools import Backends
from agents.engine import SGLANG, VLLM, CostModel, Playbook, SimulatedEngine, serve
from agents.engine.core.profiles import KV_GB_PER_CONTEXT, MEDIUM, SMALL
from agents.engine.core.speculation import EAGLE_3
from agents.techniques.inference_pool import InferencePool, pool_size
from agents.telemetry import Outage, Telemetry

LARGE_MODEL, CODER_MODEL, SMALL_MODEL = "sim-70b", "sim-coder-32b", "sim-8b"
CACHE, POOL, BOUNDED_TOOLS = TECHNIQUES = ("cache", "pool", "bounded-tools")
PORTS = (8110, 8111)  # of the engines that tell of themselves, so that their pages can be scraped; any, if taken


@dataclass
class World:
    """``large`` runs on an engine like vLLM, ``coder`` on one like SGLang with speculative decoding; both send spans.
    ``small`` is like a hosted API, which sends none and has no page."""

    target: Target
    clock: Clock
    random: Random
    playbook: Playbook
    http: httpx.AsyncClient
    outage: Outage
    without: frozenset[str] = frozenset()
    """Of `TECHNIQUES`: those that are switched off."""
    pool: InferencePool | None = None
    """In front of the large engine."""
    large: ChatModel = field(init=False)
    coder: ChatModel = field(init=False)
    small: ChatModel = field(init=False)
    backends: Backends = field(init=False)
    pages: list[str] = field(default_factory=list)
    """`/metrics` of the engines that have one."""
    _telemetry: list[Telemetry] = field(default_factory=list)

    def pooled(self, tenant: str, priority: int) -> ChatModel:
        """The large model for a service that takes its place in the pool."""
        return dataclasses.replace(self.large, pool=self.pool, tenant=tenant, priority=priority)

    def telemetry(
        self, service: str, version: str, environment: str, resource: Mapping[str, str] | None = None
    ) -> Telemetry:
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
            resource=resource,
        )
        self._telemetry.append(made)
        return made

    async def close(self) -> None:
        # Side by side: when nobody answers, each takes its two seconds.
        await asyncio.gather(*(asyncio.to_thread(telemetry.close) for telemetry in self._telemetry))


@asynccontextmanager
async def world(
    target: Target, *, seed: int, speed: float, without: frozenset[str] = frozenset()
) -> AsyncIterator[World]:
    clock, random, playbook = Clock(speed), Random(seed), Playbook(seed=seed)
    limits = httpx.Limits(max_connections=100)
    # Only engines on this machine are called, so no proxy has a part in it.
    async with httpx.AsyncClient(trust_env=False, timeout=60, limits=limits) as http:
        made = World(target, clock, random, playbook, http, Outage(target.url), without)
        if POOL not in without:
            size = pool_size(gpu_gb=80, weights_gb=70, kv_gb=KV_GB_PER_CONTEXT)
            made.pool = InferencePool(size, promote_after_s=5.0 / speed)
        made.backends = Backends(clock, random)
        large, coder = (
            SimulatedEngine(
                model,
                playbook,
                style=style,
                costs=costs,
                speculation=speculation,
                telemetry=made.telemetry(service, "", "production", style.resource),
                clock=clock,
                seed=seed,
            )
            for model, style, costs, speculation, service in (
                (LARGE_MODEL, VLLM, CostModel(), None, "sim-engine-70b"),
                (CODER_MODEL, SGLANG, MEDIUM, EAGLE_3, "sim-engine-coder"),
            )
        )
        small = SimulatedEngine(SMALL_MODEL, playbook, costs=SMALL, clock=clock, seed=seed)
        try:
            async with (
                serve(large, port=_free(PORTS[0])) as large_url,
                serve(coder, port=_free(PORTS[1])) as coder_url,
                serve(small) as small_url,
            ):
                parameters = {"temperature": 0.2, "max_tokens": 1024}
                made.large, made.coder, made.small = (
                    ChatModel(name=name, base_url=url, http=http, provider=provider, parameters=parameters)
                    for name, url, provider in (
                        (LARGE_MODEL, large_url, "vllm"),
                        (CODER_MODEL, coder_url, "sglang"),
                        (SMALL_MODEL, small_url, "sim-hosted"),
                    )
                )
                made.pages = [url.replace("/v1", "/metrics") for url in (large_url, coder_url)]
                yield made
        finally:
            await made.close()


def _free(port: int) -> int:
    """This port, or 0 (any) if somebody listens there."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port

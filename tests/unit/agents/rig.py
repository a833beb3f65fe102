"""What the agent tests share: an agent's and an engine's telemetry, a fast engine, and a collector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from agents.chat import ChatModel
from agents.engine import Playbook, SimulatedEngine
from agents.loop import Agent
from agents.telemetry import Telemetry
from agents.tools import Tool
from tests.unit.agents.otlp_collector import Collector

MODEL = "sim-70b"


@dataclass
class Rig:
    collector: Collector
    telemetry: Telemetry
    engine: SimulatedEngine
    engine_telemetry: Telemetry
    playbook: Playbook
    http: httpx.AsyncClient
    url: str

    def model(self, **given: Any) -> ChatModel:
        usual = {"name": MODEL, "base_url": self.url, "http": self.http, "provider": "vllm"}
        return ChatModel(**usual | given)

    def agent(self, *tools: Tool, **given: Any) -> Agent:
        usual = {"name": "support", "model": self.model(), "telemetry": self.telemetry, "tools": tools}
        return Agent(**usual | given)

    def told(self) -> Collector:
        """The collector, once everything has been flushed to it."""
        self.telemetry.close()
        self.engine_telemetry.close()
        return self.collector


def bodies(messages: Sequence[dict[str, Any]]) -> list[str]:
    """The tool results in a conversation."""
    return [message["content"] for message in messages if message["role"] == "tool"]

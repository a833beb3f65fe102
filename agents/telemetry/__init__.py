"""Spans of an agent in the OpenTelemetry GenAI conventions, and their way to a collector.

Knows nothing of how an agent works: ``agents.loop`` calls it, and so can any other agent.
"""

from agents.telemetry.export import Outage
from agents.telemetry.spans import Call, Run, Telemetry, ToolRun

__all__ = ["Call", "Outage", "Run", "Telemetry", "ToolRun"]

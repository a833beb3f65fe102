"""Spans of an agent in the OpenTelemetry GenAI conventions, and their way to a collector.

Knows nothing of how an agent works: ``agents.loop`` calls it, and so can any other agent.
"""

from agents.telemetry.decorators import told_as_agent, told_as_tool
from agents.telemetry.export import Outage
from agents.telemetry.handles import Call, Run, ToolRun, trace_context
from agents.telemetry.spans import Telemetry

__all__ = ["Call", "Outage", "Run", "Telemetry", "ToolRun", "told_as_agent", "told_as_tool", "trace_context"]

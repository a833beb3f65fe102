"""LiveKit agents: the common names, and around all turns of a conversation a span that calls itself a workflow.

A session lasts as long as somebody talks or is silent: each turn in it is a run, the session is none.
"""

from __future__ import annotations

from ingest.semconv.facts import OTHER, TOOL, Told
from ingest.semconv.values import tell, text
from ingest.spans import Span

LABEL = "lk.agent_label"
TOOL_NAME = "lk.function_tool.name"
TOOL_ROWS = (("tool", TOOL_NAME, text), ("tool_call_id", "lk.function_tool.id", text))


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    if LABEL in attributes and attributes.get("gen_ai.operation.name") == "invoke_workflow":
        return Told(kind=OTHER)
    if TOOL_NAME in attributes:
        told = tell(Told(kind=TOOL), attributes, TOOL_ROWS)
        if attributes.get("lk.function_tool.is_error") is True:
            told["tool_failed"] = True
        return told
    return None

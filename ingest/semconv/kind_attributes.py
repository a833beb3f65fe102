"""Conventions without an adapter of their own here: most mark their spans with an attribute that ends like the others'.

    langsmith.span.kind=llm    lmnr.span.type=TOOL    gen_ai.span.kind=AGENT    mastra.span.type=model_step

Such a kind is taken where nobody else knows one. What the span says beside it mostly stands in common names.
"""

from __future__ import annotations

from ingest.semconv import gen_ai
from ingest.semconv.facts import Kind, Told
from ingest.semconv.values import tell, text
from ingest.spans import Attributes, Span

# The last word of such an attribute, and the words that may stand before it.
LAST_WORDS = frozenset({"kind", "type", "span_kind", "span_type", "spanType", "observation_type"})
_BEFORE = ("span", "observation")
KINDS = {
    "agent": Kind.AGENT,
    "agent_run": Kind.AGENT,
    "chain": Kind.CHAIN,
    "chat": Kind.CALL,
    "chat_model": Kind.CALL,
    "generation": Kind.CALL,
    "llm": Kind.CALL,
    "mcp_tool_call": Kind.TOOL,
    "model_generation": Kind.CALL,
    "model_step": Kind.CALL,
    "tool": Kind.TOOL,
    "tool_call": Kind.TOOL,
    "task": Kind.CHAIN,
    "workflow": Kind.WORKFLOW,
    "workflow_run": Kind.WORKFLOW,
    "workflow_step": Kind.CHAIN,
}
TOOL_ROWS = (
    ("tool", "gen_ai.tool.name", text),
    ("tool", "tool.name", text),
    ("tool_call_id", "gen_ai.tool.call.id", text),
)
AGENT_ROWS = (("agent", "gen_ai.agent.name", text),)


def facts(span: Span) -> Told | None:
    kind = _kind(span.attributes)
    if kind is None or span.attributes.get("gen_ai.operation.name") in gen_ai.OTHERS:
        return None
    told = Told(kind=kind)
    if kind is Kind.TOOL:
        tell(told, span.attributes, TOOL_ROWS)
        told.setdefault("tool", span.name)
    elif kind is Kind.AGENT:
        tell(told, span.attributes, AGENT_ROWS)
        told.setdefault("agent", span.name)
    return told


def _kind(attributes: Attributes) -> Kind | None:
    for key, value in attributes.items():
        stem, _, last = key.rpartition(".")
        if last in LAST_WORDS and stem and (last not in ("kind", "type") or stem.rpartition(".")[2] in _BEFORE):
            known = KINDS.get((text(value) or "").lower())
            if known is not None:
                return known
    return None

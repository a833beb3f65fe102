"""Conventions without an adapter of their own here: most mark their spans with an attribute that ends like the others'.

    langsmith.span.kind=llm    lmnr.span.type=TOOL    gen_ai.span.kind=AGENT    mastra.span.type=model_step

Such a kind is taken where nobody else knows one. What the span says beside it mostly stands in common names.
"""

from __future__ import annotations

from ingest.semconv import gen_ai
from ingest.semconv.facts import AGENT, CALL, CHAIN, TOOL, WORKFLOW, Kind, Told
from ingest.semconv.values import tell, text
from ingest.shapes import Shape, shape_of
from ingest.spans import Attributes, Span

# The last word of such an attribute, and the words that may stand before it.
LAST_WORDS = frozenset({"kind", "type", "span_kind", "span_type", "spanType", "observation_type"})
_BEFORE = ("span", "observation")
KINDS = {
    "agent": AGENT,
    "agent_run": AGENT,
    "chain": CHAIN,
    "chat": CALL,
    "chat_model": CALL,
    "generation": CALL,
    "llm": CALL,
    "mcp_tool_call": TOOL,
    "model_generation": CALL,
    "model_step": CALL,
    "tool": TOOL,
    "tool_call": TOOL,
    "task": CHAIN,
    "workflow": WORKFLOW,
    "workflow_run": WORKFLOW,
    "workflow_step": CHAIN,
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
    if kind is TOOL:
        tell(told, span.attributes, TOOL_ROWS)
        told.setdefault("tool", span.name)
    elif kind is AGENT:
        tell(told, span.attributes, AGENT_ROWS)
        told.setdefault("agent", span.name)
    return told


def _kind(attributes: Attributes) -> Kind | None:
    shape = shape_of(attributes)
    remembered = shape.memory.get(id(LAST_WORDS))
    keys: list[str] = remembered[1] if remembered else shape.remember(LAST_WORDS, _keys(shape))
    for key in keys:
        known = KINDS.get((text(attributes[key]) or "").lower())
        if known is not None:
            return known
    return None


def _keys(shape: Shape) -> list[str]:
    """The attributes that mark a kind."""
    found = []
    for key in sorted(shape.keys):
        stem, _, last = key.rpartition(".")
        if last in LAST_WORDS and stem and (last not in ("kind", "type") or stem.rpartition(".")[2] in _BEFORE):
            found.append(key)
    return found

"""Emitters that tell a span's kind only by its message template (Logfire's integrations).

The template is an attribute with a fixed text and holes, so it is matched like an enum, never by what is
filled in.
"""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, TOOL, WORKFLOW, Kind, Told
from ingest.semconv.messages import asked_in
from ingest.semconv.values import document, tell, text, whole
from ingest.spans import Attributes, Span

TEMPLATES: tuple[tuple[str, Kind], ...] = (
    ("OpenAI Agents trace:", WORKFLOW),
    ("Agent run:", AGENT),
    ("{agent_name} run", AGENT),
    ("Function:", TOOL),
    ("MCP tool call:", TOOL),
    ("running tool:", TOOL),
    ("Handoff:", TOOL),
    ("Responses API with", CALL),
    ("Chat completion with", CALL),
    ("Chat Completion with", CALL),
    ("Message with", CALL),
)
MESSAGE = "logfire.msg"  # the template, filled in
CALL_ROWS = (("response_id", "response_id", text),)
ROOT_ROWS = (("session", "group_id", text),)


def has_holes(name: str) -> bool:
    """Whether a span's name may be a template, which people had rather read filled in."""
    return "{" in name


def facts(span: Span) -> Told | None:
    template = span.attributes.get("logfire.msg_template")
    if not isinstance(template, str):
        return None
    attributes = span.attributes
    kind = next((kind for start, kind in TEMPLATES if template.startswith(start)), None)
    if kind is None:
        return None
    told = Told(kind=kind)
    if kind is CALL:
        _tell_call(told, attributes)
    elif kind is TOOL:
        told["tool"] = text(attributes.get("name")) or text(attributes.get("gen_ai.tool.name")) or span.name
        if template.startswith("Handoff:"):
            told["tool"] = "handoff"
    else:
        tell(told, attributes, (("agent", "name", text), ("agent", "agent_name", text)))
        tell(told, attributes, ROOT_ROWS)
        _tell_metadata(told, attributes)
    return told


def _tell_call(told: Told, attributes: Attributes) -> None:
    tell(told, attributes, CALL_ROWS)
    usage = document(attributes.get("usage"))
    details = usage.get("input_tokens_details") if isinstance(usage, dict) else None
    cached = whole(details.get("cached_tokens")) if isinstance(details, dict) else None
    if cached is not None:
        told["cached_tokens"] = cached
    output = attributes.get("response") or attributes.get("output") or attributes.get("response_data")
    if output is not None:
        told["asked"] = asked_in(output)


def _tell_metadata(told: Told, attributes: Attributes) -> None:
    inner = document(attributes.get("metadata"))
    if isinstance(inner, dict):
        tell(told, inner, (("user", "user_id", text),))

"""Haystack's own tracing: tags below `haystack.`, an answer's facts in the JSON of its replies.

Its agent names its spans `haystack.agent.step.llm` and the like. Without content tracing a model's span bears no tag
at all, so that this name, a constant of the convention, is all there is to go by.
"""

from __future__ import annotations

from typing import Any

from ingest.semconv.facts import AGENT, CALL, CHAIN, TOOL, FirstToken, Kind, Told
from ingest.semconv.messages import asked_in, shows_text
from ingest.semconv.values import document, instant, tell, text, whole
from ingest.spans import Span

CALL_SPAN = "haystack.agent.step.llm"
OUTPUTS = (f"{CALL_SPAN}.output", "haystack.component.output")
# What a component that asks a model is called: OpenAIChatGenerator, AmazonBedrockGenerator, and any of one's own.
GENERATOR = "Generator"
ANSWER_ROWS = (
    ("response_model", "model", text),
    ("finish_reason", "finish_reason", text),
)
USAGE_ROWS = (
    ("input_tokens", "prompt_tokens", whole),
    ("output_tokens", "completion_tokens", whole),
    ("cached_tokens", "cache_read_input_tokens", whole),
)
DETAIL_ROWS = (("cached_tokens", "cached_tokens", whole),)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    kind = _kind(span)
    if kind is None:
        return None
    told = Told(kind=kind)
    if kind is TOOL:
        told["tool"] = text(attributes.get("haystack.tool.name")) or span.name
    elif kind is CALL:
        _tell_call(told, next((attributes[key] for key in OUTPUTS if key in attributes), None))
    return told


def _kind(span: Span) -> Kind | None:
    attributes = span.attributes
    if "haystack.tool.name" in attributes:
        return TOOL
    if "haystack.agent.max_steps" in attributes:
        return AGENT
    component = attributes.get("haystack.component.type")
    if span.name == CALL_SPAN or (isinstance(component, str) and component.endswith(GENERATOR)):
        return CALL
    if component is not None or any(key.startswith("haystack.pipeline.") for key in attributes):
        return CHAIN
    return None


def _tell_call(told: Told, output: Any) -> None:
    answer = document(output)
    if not isinstance(answer, dict):
        return
    told["asked"] = asked_in(answer)
    if told["asked"]:
        told["shows_text"] = shows_text(answer.get("replies"))
    meta = _meta(answer)
    tell(told, meta, ANSWER_ROWS)
    usage = meta.get("usage")
    if isinstance(usage, dict):
        tell(told, usage, USAGE_ROWS)
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict):
            tell(told, details, DETAIL_ROWS)
    first = instant(meta.get("completion_start_time"))
    if first is not None:
        told["first_tokens"] = (FirstToken(unix_ns=first, where="completion_start_time"),)
        told["streamed"] = True


def _meta(answer: dict[str, Any]) -> dict[str, Any]:
    """What is told of the first reply: in it (messages) or beside it (plain texts)."""
    replies = answer.get("replies")
    first = replies[0] if isinstance(replies, list) and replies else None
    meta = first.get("meta") if isinstance(first, dict) else answer.get("meta")
    if isinstance(meta, list) and meta:
        meta = meta[0]
    return meta if isinstance(meta, dict) else {}

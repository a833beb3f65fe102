"""Langfuse SDKs: the observation's type, JSON in strings, the first token as an absolute time in quotes."""

from __future__ import annotations

from typing import Any

from ingest.semconv.facts import AGENT, CALL, CHAIN, TOOL, FirstToken, Told
from ingest.semconv.messages import asked_in, shows_text
from ingest.semconv.values import document, instant, tell, text, whole
from ingest.spans import Span

TYPE = "langfuse.observation.type"
COMPLETION_START = "langfuse.observation.completion_start_time"
KINDS = {
    "agent": AGENT,
    "generation": CALL,
    "tool": TOOL,
    "chain": CHAIN,
}
ROWS = (
    ("response_model", "langfuse.observation.model.name", text),
    ("finish_reason", "langfuse.observation.metadata.finish_reason", text),
)
CACHED = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
IDENTITY_ROWS = (
    ("session", "langfuse.session.id", text),
    ("session", "session.id", text),
    ("user", "langfuse.user.id", text),
    ("user", "user.id", text),
)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    kind = attributes.get(TYPE)
    if kind is None:
        return None
    told = tell({}, attributes, IDENTITY_ROWS)
    known = KINDS.get(str(kind).lower())
    if known is None:
        return told  # "span" is also what foreign spans get: another convention may know better
    told["kind"] = known
    if known is CALL:
        _tell_call(told, span)
    elif known is TOOL:
        told["tool"] = span.name
    elif known is AGENT:
        told["agent"] = span.name
    if attributes.get("langfuse.observation.level") == "ERROR":
        told["tool_failed"] = True
        told["error"] = text(attributes.get("langfuse.observation.status_message")) or "error"
    return told


def _tell_call(told: Told, span: Span) -> None:
    attributes = span.attributes
    tell(told, attributes, ROWS)
    told.update(_usage(document(attributes.get("langfuse.observation.usage_details"))))
    output = attributes.get("langfuse.observation.output")
    if output is not None:
        told["asked"] = asked_in(output)
        if told["asked"]:
            told["shows_text"] = shows_text(output)
    first = instant(attributes.get(COMPLETION_START))
    if first is not None:
        told["first_tokens"] = (FirstToken(unix_ns=first, where=COMPLETION_START),)
        told["streamed"] = True


def _usage(usage: Any) -> Told:
    """Token counts. `input` leaves the cached ones out where they stand beside it under a name of their own."""
    if not isinstance(usage, dict):
        return {}
    told = Told(
        input_tokens=whole(usage.get("prompt_tokens", usage.get("input_tokens"))),
        output_tokens=whole(usage.get("completion_tokens", usage.get("output_tokens", usage.get("output")))),
        cached_tokens=next((whole(usage[key]) for key in CACHED if key in usage), None),
    )
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    if told["cached_tokens"] is None and isinstance(details, dict):
        told["cached_tokens"] = whole(details.get("cached_tokens"))
    if told["input_tokens"] is None and "input" in usage:
        told["input_tokens"] = whole(usage["input"])
        told["cached_apart"] = any(key in usage for key in CACHED)
    return {fact: value for fact, value in told.items() if value is not None}

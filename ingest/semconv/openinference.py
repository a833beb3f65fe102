"""OpenInference (Phoenix): `openinference.span.kind`, flattened messages, the first token as an event."""

from __future__ import annotations

from typing import Any

from ingest.semconv.facts import AGENT, CALL, CHAIN, TOOL, AskedTool, FirstToken, Told
from ingest.semconv.messages import asked_in, ends_in_tool_results, shows_text
from ingest.semconv.values import document, milliseconds, tell, text, whole
from ingest.spans import Attributes, Span

KIND = "openinference.span.kind"
FIRST_TOKEN_EVENT = "First Token Stream Event"
KINDS = {"AGENT": AGENT, "CHAIN": CHAIN, "LLM": CALL, "TOOL": TOOL}
CALL_ROWS = (
    ("response_model", "llm.response.model_name", text),
    ("response_model", "llm.model_name", text),
    ("request_model", "llm.request.model_name", text),
    ("provider", "llm.provider", text),
    ("provider", "llm.system", text),
    ("input_tokens", "llm.token_count.prompt", whole),
    ("output_tokens", "llm.token_count.completion", whole),
    ("cached_tokens", "llm.token_count.prompt_details.cache_read", whole),
    ("cached_tokens", "metadata.usage.cached_prompt_tokens", whole),
    ("finish_reason", "llm.finish_reason", text),
)
TOOL_ROWS = (
    ("tool", "tool.name", text),
    ("tool_call_id", "tool_call.id", text),
    ("tool_call_id", "tool.id", text),
)
IDENTITY_ROWS = (("session", "session.id", text), ("user", "user.id", text), ("agent", "agent.name", text))
MAX_ASKED = 64


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    kind = attributes.get(KIND)
    if kind is None:
        return None
    told = tell({}, attributes, IDENTITY_ROWS)
    known = KINDS.get(str(kind).upper())
    if known is None:
        return told
    told["kind"] = known
    if known is CALL:
        _tell_call(told, span)
    elif known is TOOL:
        tell(told, attributes, TOOL_ROWS)
        told.setdefault("tool", span.name)
    elif known is AGENT:
        _tell_identity(told, attributes)
    return told


def _tell_identity(told: Told, attributes: Attributes) -> None:
    """Session and user that only the metadata JSON holds."""
    metadata = attributes.get("metadata")
    if isinstance(metadata, str) and "_id" in metadata:
        inner = document(metadata)
        if isinstance(inner, dict):
            tell(
                told,
                inner,
                (("session", "session_id", text), ("session", "thread_id", text), ("user", "user_id", text)),
            )


def _tell_call(told: Told, span: Span) -> None:
    attributes = span.attributes
    tell(told, attributes, CALL_ROWS)
    output = attributes.get("output.value")
    if "llm.output_messages.0.message.role" in attributes:
        told["asked"] = _asked(attributes)
        words = attributes.get("llm.output_messages.0.message.content") or attributes.get(
            "llm.output_messages.0.message.contents.0.message_content.text"
        )
        told["shows_text"] = bool(words) if words or told["asked"] else None
    elif output is not None:
        told["asked"] = asked_in(output)
        if told["asked"]:
            told["shows_text"] = shows_text(output)
    told["response_id"] = _response_id(output)
    parameters = attributes.get("llm.invocation_parameters")
    if isinstance(parameters, str) and '"stream"' in parameters:
        told["streamed"] = '"stream": true' in parameters or '"stream":true' in parameters
    told["first_tokens"] = _first_tokens(span)
    if told["first_tokens"]:
        told["streamed"] = True
    for fact in ("response_id", "shows_text"):
        if told.get(fact) is None:
            told.pop(fact, None)


def _first_tokens(span: Span) -> tuple[FirstToken, ...]:
    for event in span.events:
        if event.name == FIRST_TOKEN_EVENT:
            return (FirstToken(unix_ns=event.unix_ns, where=f"event {FIRST_TOKEN_EVENT}"),)
    after_ns = milliseconds(span.attributes.get("time_to_first_token_ms"))
    if after_ns is not None:
        return (FirstToken(unix_ns=span.start_unix_ns + after_ns, where="time_to_first_token_ms"),)
    return ()


def _asked(attributes: Attributes) -> tuple[AskedTool, ...]:
    asked = []
    for number in range(MAX_ASKED):
        stem = f"llm.output_messages.0.message.tool_calls.{number}.tool_call."
        name, call_id = text(attributes.get(f"{stem}function.name")), text(attributes.get(f"{stem}id"))
        if name is None and call_id is None:
            break
        asked.append(AskedTool(name=name, call_id=call_id))
    return tuple(asked)


def _response_id(output: Any) -> str | None:
    """The response's id, which this convention keeps only inside the output's JSON."""
    if not isinstance(output, str) or '"id"' not in output[:4000]:
        return None
    answer = document(output)
    found = answer.get("id") if isinstance(answer, dict) else None
    return found if isinstance(found, str) and found else None


def input_ends_in_tool_results(attributes: Attributes) -> bool | None:
    """Read the flattened input: the role of its last message decides."""
    role, number = None, 0
    while (next_role := attributes.get(f"llm.input_messages.{number}.message.role")) is not None:
        role, number = next_role, number + 1
    if role is None:
        return ends_in_tool_results(attributes.get("input.value"))
    if role in ("tool", "function"):
        return True
    last = f"llm.input_messages.{number - 1}.message.contents.0.message_content.type"
    return attributes.get(last) == "tool_result"

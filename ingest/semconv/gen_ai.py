"""OpenTelemetry GenAI conventions, all generations since prompt and completion tokens.

Three generations arrive at once: names before 1.27, those up to 1.36, and the latest. The newest spelling
of a fact stands first in its table.
"""

from __future__ import annotations

from typing import Any

from ingest.semconv.facts import AGENT, CALL, TOOL, WORKFLOW, AskedTool, FirstToken, Told
from ingest.semconv.messages import asked_in, shows_text
from ingest.semconv.values import (
    document,
    first_text,
    flag,
    microseconds,
    milliseconds,
    seconds,
    tell,
    text,
    whole,
)
from ingest.spans import Attributes, Span

KINDS = {
    "chat": CALL,
    "generate_content": CALL,
    "text_completion": CALL,
    "completion": CALL,
    "invoke_agent": AGENT,
    "invoke_workflow": WORKFLOW,
    "execute_tool": TOOL,
}
# Operations of the convention that are none of the above. Any other that answers like a model is a call.
OTHERS = ("create_agent", "plan", "embeddings", "retrieval")
CALL_ROWS = (
    ("request_model", "gen_ai.request.model", text),
    ("response_model", "gen_ai.response.model", text),
    ("provider", "gen_ai.provider.name", text),
    ("provider", "gen_ai.system", text),
    ("response_id", "gen_ai.response.id", text),
    ("input_tokens", "gen_ai.usage.input_tokens", whole),
    ("input_tokens", "gen_ai.usage.prompt_tokens", whole),
    ("output_tokens", "gen_ai.usage.output_tokens", whole),
    ("output_tokens", "gen_ai.usage.completion_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cache_read.input_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cache_read_input_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cached_tokens", whole),
    ("cached_tokens", "gen_ai.usage.details.cache_read_tokens", whole),
    ("streamed", "gen_ai.request.stream", flag),
    ("streamed", "gen_ai.is_streaming", flag),
    ("finish_reason", "gen_ai.response.finish_reasons", first_text),
)
TOOL_ROWS = (("tool", "gen_ai.tool.name", text), ("tool_call_id", "gen_ai.tool.call.id", text))
IDENTITY_ROWS = (
    ("session", "gen_ai.conversation.id", text),
    ("session", "session.id", text),
    ("user", "user.id", text),
    ("user", "enduser.id", text),
    ("user", "gen_ai.user", text),
    ("agent", "gen_ai.agent.name", text),
)
# Where a first token may be told, best first: (attribute, its unit when a float, its unit when an integer,
# whether it counts chunks of the stream as they come).
FIRST_TOKEN = (
    ("gen_ai.client.operation.time_to_first_chunk", seconds, seconds, False),
    ("gen_ai.response.time_to_first_token", seconds, microseconds, False),
    ("gen_ai.server.time_to_first_token", seconds, milliseconds, False),
    ("gen_ai.server.ttft", seconds, milliseconds, False),
    ("gen_ai.response.time_to_first_chunk", seconds, seconds, True),
    ("ai.observability.generation.time_to_first_token_ms", milliseconds, milliseconds, False),
)
# Without any of these no tool stands beside an answer.
_BESIDE = ("gen_ai.tool.name", "gen_ai.completion.0.tool_calls.0.name", "gen_ai.completion.0.function_call.name")


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    operation = attributes.get("gen_ai.operation.name")
    kind = KINDS.get(operation) if isinstance(operation, str) else None
    told: Told = {}
    tell(told, attributes, IDENTITY_ROWS)
    if kind is None and operation not in OTHERS and _answers(attributes):
        kind = CALL
    if kind is not None:
        told["kind"] = kind
    if kind is CALL or operation is None:
        _tell_call(told, span)  # another convention may have said that it is a call
    elif kind is TOOL:
        tell(told, attributes, TOOL_ROWS)
        if attributes.get("gen_ai.tool.status") == "error":
            told["tool_failed"] = True
    elif kind is WORKFLOW:
        tell(told, attributes, (("agent", "gen_ai.workflow.name", text),))
    return told or None


def _answers(attributes: Attributes) -> bool:
    """Whether a span without a known operation shows a model's request and its answer."""
    return "gen_ai.request.model" in attributes and (
        "gen_ai.response.model" in attributes
        or "gen_ai.response.id" in attributes
        or "gen_ai.usage.output_tokens" in attributes
        or "gen_ai.usage.completion_tokens" in attributes
    )


def _tell_call(told: Told, span: Span) -> None:
    attributes = span.attributes
    tell(told, attributes, CALL_ROWS)
    first_tokens = _first_tokens(span)
    if first_tokens:
        told["first_tokens"] = tuple(first_tokens)
    output = attributes.get("gen_ai.output.messages")
    if output is None:
        output = _choice(span)
    if output is not None:
        told["asked"] = asked_in(output)
        if told["asked"]:
            told["shows_text"] = shows_text(output)
    elif "gen_ai.completion.0.role" in attributes or "gen_ai.completion.0.finish_reason" in attributes:
        told["asked"] = tuple(_indexed(attributes))
    if not told.get("asked") and not attributes.keys().isdisjoint(_BESIDE):
        # Some write a call's tool beside its answer, and the answer without it.
        beside = tuple(_indexed(attributes)) or _beside(attributes)
        if beside:
            told["asked"] = beside


def _first_tokens(span: Span) -> list[FirstToken]:
    found = []
    attributes = span.attributes
    for key, of_float, of_integer, chunk in FIRST_TOKEN:
        value = attributes.get(key)
        if value is not None:
            after_ns = (of_integer if isinstance(value, int) else of_float)(value)
            if after_ns is not None:
                found.append(FirstToken(unix_ns=span.start_unix_ns + after_ns, where=key, chunk=chunk))
    return found


def _choice(span: Span) -> Any:
    """The output as older generations send it: an event with the message's JSON."""
    for event in reversed(span.events):
        if event.name == "gen_ai.choice":
            return event.attributes.get("message") or event.attributes.get("content")
        if event.name == "gen_ai.client.inference.operation.details":
            output = event.attributes.get("gen_ai.output.messages")
            if output is not None:
                return output
    return None


def _indexed(attributes: Attributes) -> list[AskedTool]:
    """Tool calls of the oldest generation: `gen_ai.completion.0.tool_calls.0.name`."""
    asked = []
    for number in range(64):
        stem = f"gen_ai.completion.0.tool_calls.{number}."
        name = text(attributes.get(f"{stem}name"))
        if name is None:
            name = text(attributes.get(f"gen_ai.completion.{number}.function_call.name"))
        if name is None:
            break
        asked.append(AskedTool(name=name, call_id=text(attributes.get(f"{stem}id"))))
    return asked


def _beside(attributes: Attributes) -> tuple[AskedTool, ...]:
    """A tool's name on a model's span: the tool that it asked for."""
    names = document(attributes.get("gen_ai.tool.name")) or attributes.get("gen_ai.tool.name")
    if isinstance(names, str):
        names = names.split(",")
    if not isinstance(names, list | tuple):
        return ()
    call_ids = str(attributes.get("gen_ai.tool.call.id", "")).split(",")
    ids = call_ids if len(call_ids) == len(names) else [""] * len(names)
    return tuple(
        AskedTool(name=name.strip(), call_id=call_id.strip() or None)
        for name, call_id in zip(names, ids, strict=True)
        if isinstance(name, str) and name.strip()
    )

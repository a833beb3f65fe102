"""Vercel AI SDK. The outer `ai.streamText` wraps a whole tool loop and sums its tokens: it is an agent.

The inner `doStream` and `doGenerate` are the model calls; a doStream stays open until its tools have run.
"""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, TOOL, FirstToken, Told
from ingest.semconv.messages import asked_in
from ingest.semconv.values import milliseconds, tell, text, whole
from ingest.spans import Span

CALL_SUFFIXES = (".doStream", ".doGenerate")
LOOPS = frozenset({"ai.streamText", "ai.generateText", "ai.streamObject", "ai.generateObject"})
FIRST_CHUNK = ("ai.response.msToFirstChunk", "ai.stream.msToFirstChunk")
CALL_ROWS = (
    ("request_model", "ai.model.id", text),
    ("response_model", "ai.response.model", text),
    ("provider", "ai.model.provider", text),
    ("response_id", "ai.response.id", text),
    ("input_tokens", "ai.usage.inputTokens", whole),
    ("input_tokens", "ai.usage.promptTokens", whole),
    ("output_tokens", "ai.usage.outputTokens", whole),
    ("output_tokens", "ai.usage.completionTokens", whole),
    ("cached_tokens", "ai.usage.cachedInputTokens", whole),
    ("cached_tokens", "ai.usage.inputTokenDetails.cacheReadTokens", whole),
    ("finish_reason", "ai.response.finishReason", text),
)
TOOL_ROWS = (("tool", "ai.toolCall.name", text), ("tool_call_id", "ai.toolCall.id", text))
IDENTITY_ROWS = (
    ("session", "ai.telemetry.metadata.sessionId", text),
    ("session", "ai.telemetry.metadata.session_id", text),
    ("session", "ai.telemetry.metadata.conversationId", text),
    ("session", "ai.telemetry.metadata.threadId", text),
    ("user", "ai.telemetry.metadata.userId", text),
    ("user", "ai.telemetry.metadata.user_id", text),
)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    operation = attributes.get("ai.operationId")
    if not isinstance(operation, str):
        return None
    told = tell({}, attributes, IDENTITY_ROWS)
    if operation.endswith(CALL_SUFFIXES):
        told["kind"] = CALL
        told["streamed"] = operation.endswith("doStream")
        tell(told, attributes, CALL_ROWS)
        told["first_tokens"] = _first_tokens(span)
        told["asked"] = asked_in(attributes.get("ai.response.toolCalls"))
        told["shows_text"] = bool(attributes.get("ai.response.text"))
    elif operation == "ai.toolCall":
        told["kind"] = TOOL
        tell(told, attributes, TOOL_ROWS)
    elif operation in LOOPS:
        told["kind"] = AGENT
        tell(told, attributes, (("agent", "ai.telemetry.functionId", text),))
    return told


def _first_tokens(span: Span) -> tuple[FirstToken, ...]:
    for key in FIRST_CHUNK:
        after_ns = milliseconds(span.attributes.get(key))
        if after_ns is not None:
            return (FirstToken(unix_ns=span.start_unix_ns + after_ns, where=key),)
    for event in span.events:
        if event.name == "ai.stream.firstChunk":
            return (FirstToken(unix_ns=event.unix_ns, where=f"event {event.name}"),)
    return ()

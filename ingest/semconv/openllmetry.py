"""OpenLLMetry and Traceloop: workflow, agent, task and tool spans, streams as one event per chunk."""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, TOOL, WORKFLOW, FirstToken, Told
from ingest.semconv.values import flag, tell, text, whole
from ingest.spans import Span

CHUNK_EVENT = "gen_ai.content.completion.chunk"
EVENT_LIMIT = 128
KINDS = {"workflow": WORKFLOW, "agent": AGENT, "task": WORKFLOW, "tool": TOOL}
MODEL_REQUESTS = ("chat", "completion")
IDENTITY = "traceloop.association.properties."
CALL_ROWS = (
    ("streamed", "gen_ai.is_streaming", flag),
    ("streamed", "llm.is_streaming", flag),
    ("input_tokens", "gen_ai.usage.prompt_tokens", whole),
    ("output_tokens", "gen_ai.usage.completion_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cache_read_input_tokens", whole),
)
IDENTITY_ROWS = (
    ("session", f"{IDENTITY}session_id", text),
    ("session", f"{IDENTITY}session.id", text),
    ("session", f"{IDENTITY}thread_id", text),
    ("session", f"{IDENTITY}conversation_id", text),
    ("user", f"{IDENTITY}user_id", text),
    ("user", f"{IDENTITY}user.id", text),
)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    kind = KINDS.get(str(attributes.get("traceloop.span.kind")))
    if kind is None and attributes.get("llm.request.type") in MODEL_REQUESTS:
        kind = CALL
    chunks = [event.unix_ns for event in span.events if event.name == CHUNK_EVENT]
    if kind is None and not chunks and "gen_ai.is_streaming" not in attributes:
        return None
    told = tell({}, attributes, IDENTITY_ROWS)
    if kind is not None:
        told["kind"] = kind
    entity = text(attributes.get("traceloop.entity.name"))
    if entity is not None and kind in (TOOL, AGENT, WORKFLOW):
        told["tool" if kind is TOOL else "agent"] = entity
    if kind is None or kind is CALL:
        tell(told, attributes, CALL_ROWS)
        if chunks:
            told["first_tokens"] = (_first_token(span, chunks),)
            told["streamed"] = True
    return told


def _first_token(span: Span, chunks: list[int]) -> FirstToken:
    """The first chunk event, unless the SDK's limit has dropped the oldest ones."""
    cut = span.dropped_events > 0 or len(span.events) >= EVENT_LIMIT
    return FirstToken(
        unix_ns=min(chunks),
        where=f"event {CHUNK_EVENT}",
        doubt="first_chunks_dropped" if cut else None,
        chunk=True,
    )

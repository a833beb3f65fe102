"""MLflow tracing. Every value is JSON, quotes included; chunks of a stream are numbered events."""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, CHAIN, TOOL, WORKFLOW, FirstToken, Told
from ingest.semconv.messages import asked_in, bears_token, shows_text
from ingest.semconv.values import document, flag, tell, text, whole
from ingest.spans import Event, Span

CHUNK = "mlflow.chunk.item."
KINDS = {
    "AGENT": AGENT,
    "CHAT_MODEL": CALL,
    "LLM": CALL,
    "TOOL": TOOL,
    "CHAIN": CHAIN,
    "WORKFLOW": WORKFLOW,
    "TASK": CHAIN,
}
ROWS = (
    ("response_model", "mlflow.llm.model", text),
    ("request_model", "model", text),
    ("provider", "mlflow.llm.provider", text),
    ("streamed", "stream", flag),
)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    kind = KINDS.get(text(attributes.get("mlflow.spanType")) or "")
    if kind is None:
        return None
    told = Told(kind=kind)
    if kind is CALL:
        _tell_call(told, span)
    elif kind is TOOL:
        told["tool"] = text(attributes.get("mlflow.spanFunctionName")) or span.name
    elif kind is AGENT:
        told["agent"] = text(attributes.get("mlflow.spanFunctionName")) or span.name
    return told


def _tell_call(told: Told, span: Span) -> None:
    attributes = span.attributes
    tell(told, attributes, ROWS)
    usage = document(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, dict):
        for fact, key in (
            ("input_tokens", "input_tokens"),
            ("output_tokens", "output_tokens"),
            ("cached_tokens", "cache_read_input_tokens"),
        ):
            count = whole(usage.get(key))
            if count is not None:
                told[fact] = count
    output = attributes.get("mlflow.spanOutputs")
    if output is not None:
        told["asked"] = asked_in(output)
        if told["asked"]:
            told["shows_text"] = shows_text(output)
        answer = document(output)
        if isinstance(answer, dict) and isinstance(answer.get("id"), str):
            told["response_id"] = answer["id"]
    chunks = [event for event in span.events if event.name.startswith(CHUNK)]
    if chunks:
        told["first_tokens"] = (_first_token(chunks),)
        told["streamed"] = True


def _first_token(chunks: list[Event]) -> FirstToken:
    """The first chunk that bears output. Past the SDK's event limit the oldest are dropped, 0 first."""
    first = min(chunks, key=lambda event: event.unix_ns)
    doubt = None if any(event.name == f"{CHUNK}0" for event in chunks) else "first_chunks_dropped"
    for event in sorted(chunks[:8], key=lambda event: event.unix_ns):
        if bears_token(document(event.attributes.get("mlflow.chunk.value"))):
            first = event
            break
    return FirstToken(unix_ns=first.unix_ns, where=f"event {first.name}", doubt=doubt)

"""LangSmith's export: kinds and counts in the common names, the rest in its metadata and in whole documents."""

from __future__ import annotations

from ingest.semconv.facts import Told
from ingest.semconv.messages import asked_in, shows_text
from ingest.semconv.values import document, tell, text, whole
from ingest.spans import Span

KIND = "langsmith.span.kind"
METADATA = "langsmith.metadata."
IDENTITY_ROWS = (
    ("session", f"{METADATA}session_id", text),
    ("session", f"{METADATA}thread_id", text),
    ("session", f"{METADATA}conversation_id", text),
    ("user", f"{METADATA}user_id", text),
)
DETAIL_ROWS = (("cached_tokens", "cache_read", whole),)


def facts(span: Span) -> Told | None:
    """The kind itself is read by the look of its attribute, where the operation does not tell it."""
    attributes = span.attributes
    if KIND not in attributes:
        return None
    told = tell({}, attributes, IDENTITY_ROWS)
    if attributes[KIND] == "llm":
        usage = document(attributes.get(f"{METADATA}usage_metadata"))
        details = usage.get("input_token_details") if isinstance(usage, dict) else None
        if isinstance(details, dict):
            tell(told, details, DETAIL_ROWS)
        output = attributes.get("gen_ai.completion")
        if output is not None:
            told["asked"] = asked_in(output)
            if told["asked"]:
                told["shows_text"] = shows_text(output)
    return told or None

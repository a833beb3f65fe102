"""LiteLLM's callback: strings where others write numbers, the user under a name of its own."""

from __future__ import annotations

from ingest.semconv.facts import Told
from ingest.semconv.values import flag, tell, text
from ingest.spans import Span

ROWS = (
    ("user", "llm.user", text),
    ("user", "metadata.user_api_key_end_user_id", text),
    ("streamed", "llm.is_streaming", flag),
)


def facts(span: Span) -> Told | None:
    return tell({}, span.attributes, ROWS) or None

"""Sixstage's own names, for what no convention has: spans that are one stage, attempts, prefetched tools, caches."""

from __future__ import annotations

from ingest.semconv.facts import STAGE, FirstToken, Told
from ingest.semconv.values import flag, tell, text, whole
from ingest.spans import Span

FIRST_TOKEN_EVENT = "gen_ai.first_token"
ROWS = (
    ("stage", "sixstage.stage", text),
    ("attempt", "sixstage.attempt", whole),
    ("prefetch", "sixstage.tool.prefetch", flag),
    ("cache_result", "sixstage.cache.result", text),
)


def facts(span: Span) -> Told | None:
    told = tell({}, span.attributes, ROWS)
    if "stage" not in told and "sixstage.queue" in span.attributes:
        told["stage"] = "queue"
    if "stage" in told:
        told["kind"] = STAGE
    for event in span.events:
        if event.name == FIRST_TOKEN_EVENT:
            told["first_tokens"] = (FirstToken(unix_ns=event.unix_ns, where=f"event {FIRST_TOKEN_EVENT}"),)
            break
    return told or None

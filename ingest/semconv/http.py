"""HTTP client spans: no stage of their own, but hints about retries and the first byte of a stream."""

from __future__ import annotations

from ingest.semconv.facts import HTTP, Told
from ingest.semconv.values import tell, whole
from ingest.spans import KIND_CLIENT, Span

ROWS = (
    ("http_status", "http.response.status_code", whole),
    ("http_status", "http.status_code", whole),
)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    if "http.request.method" not in attributes and "http.method" not in attributes:
        return None
    told = tell({}, attributes, ROWS)
    if span.kind == KIND_CLIENT:
        told["kind"] = HTTP
    return told

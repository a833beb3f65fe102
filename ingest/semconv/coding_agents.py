"""Coding agents on the command line (Claude Code, and those built alike): `span.type`, and flat names without a prefix.

interaction           |--------------------------------|     one prompt of the user: a run
  llm_request         |-------|              |---------|
  tool                         |------------|
    tool.blocked_on_user       |---|                         waiting for leave: within the tool
    tool.execution                 |--------|
"""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, TOOL, FirstToken, Told
from ingest.semconv.values import flag, milliseconds, tell, text, whole
from ingest.spans import Span

TYPE = "span.type"
KINDS = {"interaction": AGENT, "llm_request": CALL, "tool": TOOL}
CALL_ROWS = (
    ("request_model", "model", text),
    ("input_tokens", "input_tokens", whole),
    ("output_tokens", "output_tokens", whole),
    ("cached_tokens", "cache_read_tokens", whole),
    ("finish_reason", "stop_reason", text),
)
TOOL_ROWS = (("tool", "tool_name", text), ("tool_call_id", "tool_use_id", text))
FIRST_TOKEN = "ttft_ms"


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    kind = KINDS.get(str(attributes.get(TYPE)))
    if kind is None:
        return None
    told = Told(kind=kind)
    if kind is CALL:
        tell(told, attributes, CALL_ROWS)
        told["cached_apart"] = "cached_tokens" in told
        after_ns = milliseconds(attributes.get(FIRST_TOKEN))
        if after_ns is not None:
            told["first_tokens"] = (FirstToken(unix_ns=span.start_unix_ns + after_ns, where=FIRST_TOKEN),)
    elif kind is TOOL:
        tell(told, attributes, TOOL_ROWS)
        told.setdefault("tool", span.name)
    if kind is not AGENT and flag(attributes.get("success")) is False:
        told["error"] = text(attributes.get("error")) or "error"
        told["tool_failed"] = True
    return told

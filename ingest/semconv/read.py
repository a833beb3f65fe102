"""All that a span tells, from every convention it speaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ingest.semconv import (
    engine,
    gen_ai,
    http,
    langfuse,
    litellm,
    mcp,
    mlflow,
    openinference,
    openllmetry,
    sixstage,
    templates,
    vercel,
)
from ingest.semconv.facts import NOTHING, Facts, Kind, Told
from ingest.semconv.messages import ends_in_tool_results
from ingest.semconv.values import text
from ingest.spans import STATUS_ERROR, Span

# Order matters: the first to know a fact wins.
#  1. Our own names say exactly what is meant.
#  2. An engine's own timings beat what a client library inferred, and its spans must not pass for calls.
#  3. MCP before gen_ai: a server's tools/call says execute_tool too, and only MCP knows its side.
#  4. Vendors' kinds before gen_ai: they mark wrappers (an outer streamText) that share gen_ai's attributes.
#  5. gen_ai, the common ground.
#  6. LiteLLM and message templates fill what the others leave open.
#  7. HTTP last: a model's span that carries HTTP attributes stays a model's span.
#
# Beside each stand the first words of the attributes it may look at, and whether it reads events too.
ADAPTERS: tuple[tuple[Callable[[Span], Told | None], frozenset[str], bool], ...] = (
    (sixstage.facts, frozenset({"sixstage"}), True),
    (engine.facts, frozenset({"gen_ai"}), False),
    (mcp.facts, frozenset({"mcp"}), False),
    (vercel.facts, frozenset({"ai"}), False),
    (langfuse.facts, frozenset({"langfuse"}), False),
    (mlflow.facts, frozenset({"mlflow"}), False),
    (openinference.facts, frozenset({"openinference"}), False),
    (openllmetry.facts, frozenset({"traceloop", "llm", "gen_ai"}), True),
    (gen_ai.facts, frozenset({"gen_ai", "session", "user", "enduser", "ai"}), False),
    (litellm.facts, frozenset({"llm", "metadata"}), False),
    (templates.facts, frozenset({"logfire"}), False),
    (http.facts, frozenset({"http"}), False),
)
MAX_ERROR_CHARS = 200
MAX_SHAPES = 4_096
_Adapters = tuple[Callable[[Span], Told | None], ...]
# Which adapters have something to say depends on the attributes' keys and on there being events, and an
# emitter's spans have few such shapes. The memory of shapes is dropped whole when it is full.
_shapes: dict[tuple[tuple[str, ...], bool], _Adapters] = {}


def read_facts(span: Span) -> Facts:
    """The facts of one span. First-token claims of all conventions are kept, in the adapters' order."""
    told: Told = {}
    for adapter in _speaking(span):
        found = adapter(span)
        if found:
            told = _joined(told, found) if told else found
    if span.status == STATUS_ERROR:
        told = {**told, "error": told.get("error") or _error(span), "tool_failed": True}
    elif span.attributes.get("haystack.tool.error"):
        told = {**told, "error": text(span.attributes["haystack.tool.error"]) or "error", "tool_failed": True}
    elif "error.type" in span.attributes and told.get("kind") in (Kind.CALL, Kind.TOOL):
        told.setdefault("error", text(span.attributes["error.type"]))
        told["tool_failed"] = True
    return Facts(**told) if told else NOTHING


def _speaking(span: Span) -> _Adapters:
    """The adapters, in their order, that a span with these keys may concern."""
    shape = (tuple(span.attributes), bool(span.events))
    known = _shapes.get(shape)
    if known is None:
        spaces = {key.partition(".")[0] for key in span.attributes}
        known = tuple(
            adapter
            for adapter, own, reads_events in ADAPTERS
            if not own.isdisjoint(spaces) or (reads_events and span.events)
        )
        if len(_shapes) >= MAX_SHAPES:
            _shapes.clear()
        _shapes[shape] = known
    return known


def _joined(told: Told, found: Told) -> Told:
    """Both, the first to know a fact winning; but all claims of a first token are kept."""
    both = {**found, **told}
    if "first_tokens" in found and "first_tokens" in told:
        both["first_tokens"] = (*told["first_tokens"], *found["first_tokens"])
    if not both.get("asked") and found.get("asked"):
        both["asked"] = found["asked"]
    return both


def _error(span: Span) -> str:
    """One line that names the failure: the status message, else the exception, else the error's type."""
    message = span.status_message.strip().partition("\n")[0]
    if not message:
        for event in span.events:
            if event.name == "exception":
                message = (
                    text(event.attributes.get("exception.message"))
                    or text(event.attributes.get("exception.type"))
                    or ""
                )
                break
    message = message or text(span.attributes.get("error.type")) or "error"
    return message.partition("\n")[0][:MAX_ERROR_CHARS]


INPUTS = (
    "gen_ai.input.messages",
    "ai.prompt.messages",
    "langfuse.observation.input",
    "mlflow.spanInputs",
    "raw_input",
    "request_data",
)


def brings_tool_results(span: Span) -> bool | None:
    """Whether the messages of a call end in tool results; None where they are not shown. Costs a parse."""
    attributes = span.attributes
    for key in INPUTS:
        if key in attributes:
            told = ends_in_tool_results(attributes[key])
            if told is not None:
                return told
    if openinference.KIND in attributes:
        return openinference.input_ends_in_tool_results(attributes)
    last: Any = None
    for event in span.events:
        if event.name.startswith("gen_ai.") and event.name.endswith(".message"):
            last = event.name
    return None if last is None else last == "gen_ai.tool.message"

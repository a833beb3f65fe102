"""All that a span tells, from every convention it speaks."""

from __future__ import annotations

from collections.abc import Callable

from ingest.semconv import (
    coding_agents,
    engine,
    gen_ai,
    haystack,
    http,
    kind_attributes,
    langfuse,
    langsmith,
    litellm,
    livekit,
    log_events,
    mcp,
    mlflow,
    openinference,
    openllmetry,
    sixstage,
    templates,
    tool_results,
    vercel,
)
from ingest.semconv.facts import CALL, NOTHING, TOOL, Facts, Told
from ingest.semconv.messages import ends_in_tool_results
from ingest.semconv.values import text
from ingest.shapes import Shape, shape_of
from ingest.spans import STATUS_ERROR, Span

# Order matters: the first to know a fact wins.
#  1. Our own names say exactly what is meant.
#  2. An engine's own timings beat what a client library inferred, and its spans must not pass for calls.
#  3. MCP before gen_ai: a server's tools/call says execute_tool too, and only MCP knows its side.
#  4. Vendors' kinds before gen_ai: they mark wrappers (an outer streamText) that share gen_ai's attributes.
#  5. gen_ai, the common ground.
#  6. Events, LiteLLM, message templates and tools' results fill what the others leave open.
#  7. A kind by the look of its attribute, where nobody knows the convention.
#  8. HTTP last: a model's span that carries HTTP attributes stays a model's span.
#
# Beside each stand the attributes, or their first or last words, without any of which it says nothing, and whether
# events alone may make it speak.
ADAPTERS: tuple[tuple[Callable[[Span], Told | None], frozenset[str], bool], ...] = (
    (sixstage.facts, frozenset({"sixstage"}), True),
    (engine.facts, frozenset({engine.E2E, engine.TTFT}), False),
    (mcp.facts, frozenset({"mcp.method.name"}), False),
    (vercel.facts, frozenset({"ai.operationId"}), False),
    (langfuse.facts, frozenset({"langfuse"}), False),
    (langsmith.facts, frozenset({langsmith.KIND}), False),
    (mlflow.facts, frozenset({"mlflow"}), False),
    (openinference.facts, frozenset({openinference.KIND}), False),
    (openllmetry.facts, frozenset({"traceloop.span.kind", "llm.request.type", "gen_ai.is_streaming"}), True),
    (coding_agents.facts, frozenset({coding_agents.TYPE}), False),
    (haystack.facts, frozenset({"haystack", ""}), False),
    (livekit.facts, frozenset({livekit.LABEL, livekit.TOOL_NAME}), False),
    (gen_ai.facts, frozenset({"gen_ai", "session", "user", "enduser", "ai"}), False),
    (log_events.facts, frozenset(), True),
    (litellm.facts, frozenset({"llm", "metadata"}), False),
    (templates.facts, frozenset({"logfire.msg_template"}), False),
    (tool_results.facts, frozenset(tool_results.RESULTS), False),
    (kind_attributes.facts, kind_attributes.LAST_WORDS, False),
    (http.facts, frozenset({"http.request.method", "http.method"}), False),
)
MAX_ERROR_CHARS = 200
_Adapters = tuple[Callable[[Span], Told | None], ...]


def read_facts(span: Span) -> Facts:
    """The facts of one span. First-token claims of all conventions are kept, in the adapters' order."""
    told: Told = {}
    attributes = span.attributes
    shape = shape_of(attributes)
    remembered = shape.memory.get(id(ADAPTERS))
    speaking: tuple[_Adapters, _Adapters] = (
        remembered[1] if remembered else shape.remember(ADAPTERS, (_speaking(shape, False), _speaking(shape, True)))
    )
    for adapter in speaking[1 if span.events else 0]:
        found = adapter(span)
        if found:
            told = _joined(told, found) if told else found
    if span.status == STATUS_ERROR:
        told = {**told, "error": told.get("error") or _error(span), "tool_failed": True}
    elif attributes.get("haystack.tool.error"):
        told = {**told, "error": text(attributes["haystack.tool.error"]) or "error", "tool_failed": True}
    elif "error.type" in attributes and told.get("kind") in (CALL, TOOL):
        told.setdefault("error", text(attributes["error.type"]))
        told["tool_failed"] = True
    return Facts(**told) if told else NOTHING


def _speaking(shape: Shape, has_events: bool) -> _Adapters:
    """The adapters, in their order, that a span of this shape may concern."""
    keys = shape.keys
    names = {*keys, *(key.partition(".")[0] for key in keys), *(key.rpartition(".")[2] for key in keys)}
    if not keys:
        names.add("")  # a span without any attribute
    return tuple(
        adapter for adapter, own, reads_events in ADAPTERS if (reads_events and has_events) or not own.isdisjoint(names)
    )


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
    return log_events.input_ends_in_tool_results(span)

"""From drafts and phases to the values that leave: breakdown, calls, tools."""

from __future__ import annotations

from ingest.semconv.values import text
from ingest.spans import STATUS_ERROR
from ingest.stages.claims import owner_in
from ingest.stages.drafts import CallDraft, Scope, ToolDraft
from ingest.stages.engine_facts import choices_of
from ingest.stages.model import (
    BY_CLIENT,
    CONTINUE_DECODE,
    DECODE,
    ESTIMATED,
    PREFILL,
    RE_ENCODING,
    TOOL_EXECUTION,
    TOOL_PARSING,
    Breakdown,
    Call,
    Outside,
    Phase,
    Source,
    Stage,
    Tool,
)
from ingest.stages.tools import is_pseudo, transport_ns

_WEAKEST_LAST = {source: place for place, source in enumerate(Source)}
# Copied for each run: going through an enum's members costs more than the copy.
_NO_STAGES: dict[Stage, int] = dict.fromkeys(Stage, 0)
_NO_OUTSIDE: dict[Outside, int] = dict.fromkeys(Outside, 0)
_NO_SOURCES: dict[Stage, Source | None] = dict.fromkeys(Stage, None)
_STAGES_OF = {
    False: (PREFILL, DECODE),
    True: (RE_ENCODING, CONTINUE_DECODE),
}


def build_breakdown(phases: list[Phase], scopes: list[Scope], wall_ns: int) -> Breakdown:
    stages = dict(_NO_STAGES)
    outside = dict(_NO_OUTSIDE)
    sources_ns: dict[Stage, dict[Source, int]] = {stage: {} for stage in _NO_STAGES}
    for phase in phases:
        owner, length = phase.owner, phase.end_unix_ns - phase.start_unix_ns
        if isinstance(owner, Stage):
            stages[owner] += length
            by_source = sources_ns[owner]
            by_source[phase.source] = by_source.get(phase.source, 0) + length
        else:
            outside[owner] += length
    return Breakdown(
        wall_ns=wall_ns,
        stages_ns=stages,
        outside_ns=outside,
        busy_ns=_busy(scopes, stages),
        sources=_sources(scopes),
        sources_ns=sources_ns,
    )


def _busy(scopes: list[Scope], stages: dict[Stage, int]) -> dict[Stage, int]:
    """Plain sums of durations. A tool that holds model calls counts only what those leave of it."""
    busy = dict(_NO_STAGES)
    for scope in scopes:
        for call in scope.calls:
            carries = call.carries
            for part in call.parts:
                owner = owner_in(call, part.owner) if carries else part.owner
                if isinstance(owner, Stage):
                    busy[owner] += part.end - part.start
        for tool in scope.tools:
            if tool.inner is None:
                busy[TOOL_EXECUTION] += tool.end - tool.start
    busy[TOOL_PARSING] = stages[TOOL_PARSING]
    busy[TOOL_EXECUTION] = max(busy[TOOL_EXECUTION], stages[TOOL_EXECUTION])
    return busy


def _sources(scopes: list[Scope]) -> dict[Stage, Source | None]:
    """The weakest source of each stage's calls; tools are the client's word; None for what a run has not."""
    weakest: dict[Stage, Source | None] = dict(_NO_SOURCES)
    for scope in scopes:
        for call in scope.calls:
            reading, writing = _STAGES_OF[call.carries]
            known = weakest[reading]
            if known is None or _WEAKEST_LAST[call.source] > _WEAKEST_LAST[known]:
                weakest[reading] = weakest[writing] = call.source
            if call.tools:
                weakest[TOOL_PARSING] = BY_CLIENT
        if scope.tools:
            weakest[TOOL_EXECUTION] = BY_CLIENT
    return weakest


def build_call(call: CallDraft, scope: Scope) -> Call:
    told = call.told
    top = call.nodes[0]
    return Call(
        span_id=call.span_id,
        model=told.response_model or told.request_model,
        engine=engine_name(call) if call.engines else None,
        provider=told.provider,
        start_unix_ns=call.start,
        wall_ns=call.end - call.start,
        queue_ns=call.queue_ns,
        prefill_ns=call.prefill_ns,
        decode_ns=call.decode_ns,
        transport_ns=call.transport_ns,
        ttft_ns=None if call.first_token is None else call.first_token - call.start,
        tpot_ns=_tpot(call),
        first_token_unix_ns=call.first_token,
        input_tokens=input_tokens(call),
        cached_tokens=told.cached_tokens,
        output_tokens=output_tokens(call),
        carries_tool_results=call.carries,
        streamed=told.streamed,
        source=call.source,
        attempts=max(1 + call.failed_attempts, told.attempt or 1),
        error=told.error,
        finish_reason=told.finish_reason,
        response_id=told.response_id,
        round=call.round,
        scope=scope.level,
        parent_span_id=top.span.parent_span_id,
    )


def engine_name(call: CallDraft) -> str | None:
    """The service that the call's engine span names itself."""
    return text(call.engines[0].span.resource.get("service.name"))


def input_tokens(call: CallDraft) -> int | None:
    """Input tokens with the cached ones. A request of 0 tokens is none: some write 0 for "unknown"."""
    told = call.told
    if not told.input_tokens:
        return None
    if told.cached_tokens and (told.cached_apart or told.cached_tokens > told.input_tokens):
        return told.input_tokens + told.cached_tokens
    return told.input_tokens


def output_tokens(call: CallDraft) -> int | None:
    told = call.told
    return None if told.output_tokens == 0 and not told.input_tokens else told.output_tokens


def _tpot(call: CallDraft) -> int | None:
    """Measured, or none: an estimated call's would only repeat those that it was estimated by. With several choices
    written side by side it is that of the one whose time counts."""
    choices = choices_of(call) if len(call.engines) > 1 else ()
    tokens = output_tokens(call) if len(choices) < 2 else choices[0].facts.output_tokens
    if call.decode_ns is None or tokens is None or tokens < 2 or call.source is ESTIMATED:
        return None
    return call.decode_ns // (tokens - 1)


def build_tool(tool: ToolDraft, scope: Scope) -> Tool:
    failed = _error(tool)
    return Tool(
        span_id=tool.span_id,
        name=tool.name,
        call_id=tool.call_id,
        start_unix_ns=tool.start,
        wall_ns=tool.end - tool.start,
        ok=None if tool.abandoned else failed is None,
        error=failed,
        round=tool.asker.round if tool.asker is not None else 0,
        scope=scope.level,
        transport_ns=transport_ns(tool) if len(tool.nodes) > 1 else None,
        attempts=max([node.facts.attempt or 1 for node in tool.nodes]),
        abandoned=tool.abandoned,
        pseudo=is_pseudo(tool.name),
        agent=tool.inner is not None,
    )


def _error(tool: ToolDraft) -> str | None:
    """A tool failed if one of its own spans says so; what failed within it is another matter."""
    for node in tool.nodes:
        if node.facts.tool_failed or node.span.status == STATUS_ERROR:
            return node.facts.error or "error"
    return None

"""A run's value from its drafts and phases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from ingest.stages.assemble import (
    build_breakdown,
    build_call,
    build_tool,
    engine_name,
    input_tokens,
    output_tokens,
)
from ingest.stages.drafts import CallDraft, Scope, ToolDraft
from ingest.stages.identity import identify
from ingest.stages.model import Oddity, Phase, Run
from ingest.stages.runs import RunRoot
from ingest.stages.tools import is_pseudo
from ingest.stages.tree import Node

MAX_WARNINGS = 100
FROM_THE_CACHE = frozenset({"exact", "similar"})
_T = TypeVar("_T")


def build_run(root: RunRoot, order: list[Node], scopes: list[Scope], phases: list[Phase], end: int) -> Run:
    node = root.node
    start, wall_ns = node.start, end - node.start
    # Calls were cut since each scope put its own in order; tools were not.
    calls = sorted([call for scope in scopes for call in scope.calls], key=CallDraft.key)
    tools = scopes[0].tools
    if len(scopes) > 1:
        tools = sorted([tool for scope in scopes for tool in scope.tools], key=ToolDraft.key)
    own = [call for call in calls if _scope(call).level == 0]
    who = identify(node, order, own)
    answer = _answer(own)
    return Run(
        trace_id=node.span.trace_id,
        root_span_id=node.span.span_id,
        root_ended=root.ended,
        name=who.name,
        service=who.service,
        agent=who.agent,
        version=who.version,
        environment=who.environment,
        session_id=who.session_id,
        user_id=who.user_id,
        model=_model(own or calls),
        engine=_first(engine_name(call) for call in own if call.engines),
        status=who.status,
        error=who.error,
        start_unix_ns=start,
        breakdown=build_breakdown(phases, scopes, wall_ns),
        ttft_ns=None if answer is None else _since(start, answer),
        first_token_ns=_first(_since(start, call) for call in own if _is_visible(call)),
        ttft_sum_ns=_total(call.first_token - call.start for call in own if call.first_token is not None),
        rounds=len(own),
        input_tokens=_total(map(input_tokens, calls)),
        cached_tokens=_total(call.told.cached_tokens for call in calls),
        output_tokens=_total(map(output_tokens, calls)),
        calls=tuple([build_call(call, _scope(call)) for call in calls]),
        tools=tuple([build_tool(tool, _scope(tool)) for tool in tools]),
        phases=tuple(phases),
        warnings=_warnings(root, order, calls, tools, end),
    )


def _model(calls: list[CallDraft]) -> str | None:
    for call in calls:
        model = call.told.response_model or call.told.request_model
        if model is not None:
            return model
    return None


def _scope(draft: CallDraft | ToolDraft) -> Scope:
    assert draft.scope is not None, "every call and tool of a run has its scope by now"
    return draft.scope


def _since(start: int, call: CallDraft) -> int | None:
    """From the run's start to the call's first token; a call that began before its run has it at once."""
    return None if call.first_token is None else max(0, call.first_token - start)


def _answer(own: list[CallDraft]) -> CallDraft | None:
    """The call that gave the final answer: the last, unless it asked for tools that do work."""
    last = own[-1] if own else None
    if last is None or not last.asks:
        return last
    names = [asked.name or "" for asked in last.asked]
    return last if names and all(is_pseudo(name) for name in names) else None


def _is_visible(call: CallDraft) -> bool:
    return not call.asks or call.told.shows_text is True


def _first(values: Iterable[_T | None]) -> _T | None:
    return next((value for value in values if value is not None), None)


def _total(values: Iterable[int | None]) -> int | None:
    """A sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _warnings(
    root: RunRoot, order: list[Node], calls: list[CallDraft], tools: list[ToolDraft], end: int
) -> tuple[Oddity, ...]:
    found = [oddity for node in order if node.oddities for oddity in node.oddities]
    if not calls and not any(node.facts.cache_result in FROM_THE_CACHE for node in order):
        found.insert(
            0,
            Oddity(code="model_not_instrumented", text="no span tells of a model call: its time is orchestration"),
        )
    if root.virtual:
        found.insert(0, Oddity(code="root_missing", text="the root span has not come; seen from its children"))
    elif end > root.node.end:
        text = f"the root span ended {end - root.node.end} ns before its last model call did"
        found.insert(0, Oddity(code="root_ended_early", text=text, span_id=root.node.span.span_id))
    if len(found) > MAX_WARNINGS:
        text = f"{len(found) - MAX_WARNINGS} more warnings are not shown"
        found = [*found[:MAX_WARNINGS], Oddity(code="more_warnings", text=text)]
    return tuple(found)

"""Who asked for what: rounds, askers, tool results carried, tools abandoned, calls cut where tools start.

All of it is told within one scope, by causality first; messages decide only for a scope's first call.
"""

from __future__ import annotations

from bisect import bisect_left

from ingest.semconv.read import brings_tool_results
from ingest.stages.drafts import CallDraft, Part, Scope, ToolDraft
from ingest.stages.model import MODEL_UNSPLIT
from ingest.stages.split import cut_call
from ingest.stages.tree import Node

ASKING_REASONS = frozenset({"tool_calls", "tool_call", "tool_use", "tool-calls", "function_call"})
# A tool's span may be closed a little after the next call has started, without being given up.
GRACE_NS, GRACE_PERCENT = 20_000_000, 5
LOOK_BACK = 16
# A model span that stays open for longer than it takes to close it, after the tools in it, holds another call.
GOES_ON_NS, GOES_ON_PERCENT = 100_000_000, 10
MAX_BETWEEN = 4


def settle_rounds(scopes: list[Scope]) -> None:
    calls = [call for scope in scopes for call in scope.calls]
    for call in calls:
        told = call.told
        if told.asked:
            call.asked = told.asked
            call.wanted = frozenset(asked.name for asked in told.asked)
        call.asks = bool(told.asked) or (told.finish_reason or "").lower() in ASKING_REASONS
    by_id = {asked.call_id: call for call in calls for asked in call.asked if asked.call_id}
    for scope in scopes:
        starts = [call.start for call in scope.calls]
        for number, call in enumerate(scope.calls, 1):
            call.round = number
        for tool in scope.tools:
            _ask(tool, scope, starts, by_id)
        for call in scope.calls:
            _cut(call)
        for tool in scope.tools:
            _wait(tool, scope, starts)
        _carry(scope)


def _ask(tool: ToolDraft, scope: Scope, starts: list[int], by_id: dict[str, CallDraft]) -> None:
    """Find the call that asked for a tool: by id, else by name, else the latest that started before it."""
    call_id = tool.call_id
    for node in tool.nodes:
        if node.facts.prefetch:
            tool.prefetched = True
    asker = by_id.get(call_id) if call_id else None
    if asker is None:
        before = bisect_left(starts, tool.start)
        recent = scope.calls[max(0, before - LOOK_BACK) : before]
        recent.reverse()
        if tool.prefetched:  # the call that was guessed may come first, then those after the tool's start
            recent = [*recent[:1], *scope.calls[before : before + LOOK_BACK], *recent[1:]]
        named = [call for call in recent if tool.name in call.wanted]
        asker = next(iter(named or recent), None)
    elif tool.start < asker.start:
        tool.prefetched = True
    tool.asker = asker
    if asker is not None:
        asker.tools.append(tool)


def _cut(call: CallDraft) -> None:
    """A call ends where the first of its tools starts, once it has a first token: see ``cut_call``."""
    first = call.end
    for tool in call.tools:
        if call.start < tool.start < first and not tool.prefetched and tool.scope is call.scope:
            first = tool.start
    if first >= call.end:
        return
    if call.first_token is not None and first <= call.first_token:
        return  # started on a guess while the model still read its input: no sign of a complete output
    goes_on, end = _goes_on_for(call), call.end
    cut_call(call, first)
    if goes_on:
        call.parts.append(Part(start=first, end=end, owner=MODEL_UNSPLIT))  # the tools take theirs out of it
        call.timed_by.warn(
            "calls_inside", f"its span goes on for {goes_on} ns after the tools in it; it holds more calls"
        )


def _goes_on_for(call: CallDraft) -> int:
    """For how long a call's span goes on after the tools that lie under it, where that is another call; else 0.

    call   |=========|......|==|.....|=========|    one span for a whole loop, nobody tells how many calls
    tools            |------|  |-----|
    """
    inner = [tool.end for tool in call.tools if tool.end < call.end and _lies_under(tool.nodes[0], call)]
    left = call.end - max(inner) if inner else 0
    is_long = left >= GOES_ON_NS and left * 100 >= (call.end - call.start) * GOES_ON_PERCENT
    return left if is_long else 0


def _lies_under(node: Node, call: CallDraft) -> bool:
    above = node.parent
    for _ in range(MAX_BETWEEN):
        if above is None or above in call.nodes:
            break
        above = above.parent
    return above in call.nodes


def _wait(tool: ToolDraft, scope: Scope, starts: list[int]) -> None:
    """How long the agent waited for a tool: to its end, or to the next call's start.

    tool    |------------------------------|
    call 2           |--------|                the agent went on: the tool is abandoned
    """
    tool.until = tool.end
    after = tool.start
    if tool.asker is not None and tool.asker.scope is scope:
        after = max(after, tool.asker.start)
    number = bisect_left(starts, after + 1)
    if number < len(starts) and starts[number] < tool.end:
        give_up(tool, max(starts[number], tool.start), "the next model call had started")


def give_up(tool: ToolDraft, at: int, why: str) -> None:
    """Nobody waited for the tool after ``at``; abandoned if for longer than a span takes to close."""
    tool.until = at
    overrun = tool.end - at
    if overrun > GRACE_NS and overrun * 100 > (tool.end - tool.start) * GRACE_PERCENT:
        tool.abandoned = True
        tool.nodes[0].warn("tool_abandoned", f"{tool.name} ran on for {overrun} ns after {why}")


def _carry(scope: Scope) -> None:
    """Which calls bring tool results: those after a call that asked for tools, or after tools ran."""
    tool_starts = [tool.start for tool in scope.tools]
    before: CallDraft | None = None
    for call in scope.calls:
        if before is None:
            call.carries = any(brings_tool_results(node.span) for node in call.nodes)
        elif before.told.error and not before.asks:
            call.carries = before.carries  # it repeats what the failed one brought
        else:
            ran = bisect_left(tool_starts, call.start) > bisect_left(tool_starts, before.start)
            call.carries = before.asks or ran
        before = call

"""Claims: who asks for which interval, scope by scope."""

from __future__ import annotations

from typing import NamedTuple

from ingest.stages.drafts import CallDraft, Scope, ToolDraft
from ingest.stages.model import (
    BY_CLIENT,
    CONTINUE_DECODE,
    DECODE,
    DERIVED,
    MODEL_UNSPLIT,
    ORCHESTRATION,
    PREFILL,
    QUEUE,
    RE_ENCODING,
    TOOL_EXECUTION,
    TOOL_PARSING,
    TRANSPORT,
    UNKNOWN,
    Owner,
    Source,
)

# At equal starts the earlier in this list owns the instant (docs/latency-model.md, "Overlap").
ORDER: tuple[Owner, ...] = (
    TOOL_EXECUTION,
    CONTINUE_DECODE,
    DECODE,
    RE_ENCODING,
    PREFILL,
    QUEUE,
    TRANSPORT,
    TOOL_PARSING,
    MODEL_UNSPLIT,
    ORCHESTRATION,
)
RANK: dict[Owner, int] = {owner: rank for rank, owner in enumerate(ORDER)}
OWNERS: dict[str, Owner] = {str(owner.value): owner for owner in ORDER}
_CARRYING: dict[Owner, Owner] = {PREFILL: RE_ENCODING, DECODE: CONTINUE_DECODE}


class Claim(NamedTuple):
    """A wish for [start, end) in a scope. ``inner`` is the scope that decides within it, if any.

    ``branch`` marks what runs beside others of its kind (tools, branches): the last to finish owns.
    """

    start: int
    end: int
    owner: Owner
    span_id: str | None
    source: Source
    scope: int
    inner: int | None = None
    branch: bool = False


def owner_in(call: CallDraft, owner: Owner) -> Owner:
    """A call's prefill and decode under the names they have where it brings tool results."""
    return _CARRYING.get(owner, owner) if call.carries else owner


def build_claims(scopes: list[Scope]) -> list[Claim]:
    claims: list[Claim] = []
    for scope in scopes:
        index = scope.index
        for number, call in enumerate(scope.calls):
            for part in call.parts:
                owner = part.owner
                source = UNKNOWN if owner is MODEL_UNSPLIT else call.source
                if call.carries:
                    owner = _CARRYING.get(owner, owner)
                claims.append(Claim(part.start, part.end, owner, call.span_id, source, index))
            for attempt in call.failed:  # its time is the model's, and nobody splits it; the pause after it is none
                claims.append(Claim(attempt.start, attempt.end, MODEL_UNSPLIT, attempt.span.span_id, UNKNOWN, index))
            parsing = _parsing(scope, number, call)
            if parsing is not None:
                claims.append(parsing)
        for tool in scope.tools:
            inner = tool.inner.index if tool.inner is not None else None
            claims.append(
                Claim(
                    _awaited_from(tool),
                    tool.until,
                    TOOL_EXECUTION,
                    tool.span_id,
                    BY_CLIENT,
                    index,
                    inner,
                    True,
                )
            )
        for branch in scope.branches:
            claims.append(
                Claim(
                    branch.start,
                    branch.end,
                    branch.background,
                    branch.background_span_id,
                    DERIVED,
                    index,
                    branch.index,
                    True,
                )
            )
        for node in scope.stages:
            stage = OWNERS.get(node.facts.stage or "")
            if stage is not None:
                claims.append(Claim(node.start, node.end, stage, node.span.span_id, BY_CLIENT, index))
    return claims


def _awaited_from(tool: ToolDraft) -> int:
    """A tool that was started on a guess is waited for only once the call that asks for it is complete.

    call        |= prefill =|==== decode ====|
    prefetched        |----------------------------|     waited for from the call's end on
    """
    if tool.prefetched and tool.asker is not None:
        return max(tool.start, tool.asker.end)
    return tool.start


def _parsing(scope: Scope, number: int, call: CallDraft) -> Claim | None:
    """From the end of a call to the first of the tools it asked for, unless another call comes between.

    call     |=======|
    parsing          |pppp|
    tools                 |-----|   |---|      the later gap is orchestration
    """
    starts = [tool.start for tool in call.tools if tool.scope is scope and not tool.prefetched]
    if not starts or min(starts) <= call.end:
        return None
    until = min(starts)
    if number + 1 < len(scope.calls):
        until = min(until, max(scope.calls[number + 1].start, call.end))
    return Claim(call.end, until, TOOL_PARSING, call.span_id, BY_CLIENT, scope.index)

"""When the first output token came: candidates held against what is possible (docs/latency-model.md, "First token").

A suspect claim is set aside with a warning and the next best one is asked. None is an answer: then nobody
knows, and the call's time stays unsplit.
"""

from __future__ import annotations

from bisect import bisect_left

from ingest.semconv import FirstToken
from ingest.semconv.facts import AGENT, CALL, TOOL
from ingest.stages.drafts import CallDraft
from ingest.stages.model import BY_CLIENT, DERIVED
from ingest.stages.tree import Node

LATE_PERCENT = 97
LOOK_AHEAD = 64
# Faster than any engine decodes for one request; below this many tokens bursts tell nothing.
MAX_TOKENS_PER_S, MIN_TOKENS_FOR_RATE = 20_000, 20
# An HTTP span of a stream ends at its headers: worth a guess only where that is a good part of the call.
HINT_MIN_NS, HINT_MIN_PERCENT, STREAM_TAIL_NS = 30_000_000, 10, 10_000_000
_RESPONSES_API = "resp_"


def settle_first_token(call: CallDraft) -> None:
    """Set the call's window, first token and its source, by the client's claims alone."""
    node = call.timed_by
    call.start, call.end = node.start, node.end
    if call.failed_attempts:
        call.start = call.nodes[0].start
    for teller in reversed(call.nodes):
        for claim in teller.facts.first_tokens:
            at = claim.unix_ns + teller.shift
            doubt = claim.doubt or _doubt(call, claim, at)
            if doubt == "first_token_outside" and _extend(call, at):
                doubt = _doubt(call, claim, at)
            if doubt is None:
                call.first_token = at
                call.source = BY_CLIENT if call.end == node.end else DERIVED
                return
            teller.warn(doubt, f"{claim.where}: {_WHY.get(doubt, 'not believed')}")
    _take_http_hint(call)


_WHY = {
    "first_token_outside": "a first token outside its span; not believed",
    "first_token_at_end": "a first token at the very end of the call is no first token; not believed",
    "first_token_not_streamed": "a call that is not streamed cannot see its first token; not believed",
    "first_token_before_response": "a first token long before the response's headers; not believed",
    "first_token_is_chunk": "the first chunk of this API is an acknowledgement, not a token; not believed",
    "first_chunks_dropped": "the first chunk events were dropped at the SDK's limit; not believed",
    "first_token_rate": "it implies more tokens per second than any engine makes; not believed",
}


def _doubt(call: CallDraft, claim: FirstToken, at: int) -> str | None:
    start, end = call.start, call.end
    told = call.told
    if not start < at <= end:
        return "first_token_outside"
    if told.streamed is False:
        return "first_token_not_streamed"
    if (at - start) * 100 >= (end - start) * LATE_PERCENT and told.output_tokens != 1:
        return "first_token_at_end"
    if claim.chunk and (told.response_id or "").startswith(_RESPONSES_API):
        return "first_token_is_chunk"
    headers = _headers(call)
    if headers is not None and (at - start) * 2 < headers - start:
        return "first_token_before_response"
    tokens = told.output_tokens or 0
    if tokens >= MIN_TOKENS_FOR_RATE and (tokens - 1) * 1_000_000_000 > (end - at) * MAX_TOKENS_PER_S:
        return "first_token_rate"
    return None


def _extend(call: CallDraft, at: int) -> bool:
    """A span that closed when its stream was made ends with the step around it.

    step  |----------------------------------|
    call  |--|     ^ first token             .     closed too early
    so    |-----------------------------------|
    """
    if at <= call.end:
        return False
    outer = next((node for node in reversed(call.nodes) if node.end >= at), None)
    if outer is not None:
        call.end = outer.end
    else:
        top = call.nodes[0]
        step = top.parent
        if step is None or step.end < at:
            return False
        call.end = min((step.end, *(_starts_after(step, at, top))))
    call.timed_by.warn(
        "closed_early", f"closed before its first token; taken to end {call.end - call.timed_by.end} ns later"
    )
    return True


def _starts_after(step: Node, at: int, top: Node) -> list[int]:
    """The start of the call, tool or agent that follows in the step, if one does soon."""
    number = bisect_left(step.children, at, key=lambda child: child.start)
    for child in step.children[number : number + LOOK_AHEAD]:
        if child is not top and child.kind in (CALL, TOOL, AGENT):
            return [child.start]
    return []


def _headers(call: CallDraft) -> int | None:
    """When a stream's headers came: its HTTP span ends there. One as long as the call tells nothing."""
    if not call.https:
        return None
    end, wall = call.https[-1].end, call.end - call.start
    return end if end < call.end - max(STREAM_TAIL_NS, wall // 20) else None


def _take_http_hint(call: CallDraft) -> None:
    """Most services send a stream's headers with its first byte; engines that send them at once are too early
    to be believed."""
    headers = _headers(call)
    if headers is None or call.engines or call.told.streamed is False or call.told.error:
        return
    if headers - call.start >= max(HINT_MIN_NS, (call.end - call.start) * HINT_MIN_PERCENT // 100):
        call.first_token, call.source = headers, DERIVED
        call.https[-1].warn("first_token_from_http", "no first token told; the end of the HTTP span is taken for it")

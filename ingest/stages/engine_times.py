"""An engine's durations laid into the client's call (docs/latency-model.md, "Clocks", "Engine spans").

The engine's absolute times are another clock's and never used: only its durations, from the request's start.

client  |----------------------------------------------------|
        |transport|queue|= prefill =|=== decode ===|transport|
engine            |<- TTFT -------->|
                  |<- e2e ------------------------>|
"""

from __future__ import annotations

from ingest.frozen import Frozen
from ingest.semconv.facts import EngineTimes
from ingest.stages.drafts import CallDraft, Part
from ingest.stages.model import BY_ENGINE, DECODE, MODEL_UNSPLIT, PREFILL, QUEUE, TRANSPORT

# How much later than the engine made it a client may see its first chunk, with nobody holding it back.
HELD_BACK_NS = 50_000_000


class Durations(Frozen, frozen=True, kw_only=True):
    queue_ns: int
    prefill_ns: int
    decode_ns: int


def engine_times(call: CallDraft) -> EngineTimes | None:
    """Of the call's engine spans the longest (n > 1 ends with its last choice), else its own attributes."""
    tellers = [node.facts.engine for node in (call.engines or call.nodes) if node.facts.engine is not None]
    complete = [times for times in tellers if times.ttft_ns is not None]
    return max(complete, key=lambda times: times.e2e_ns or 0, default=None)


def durations(times: EngineTimes, wall_ns: int) -> Durations:
    """Queue, prefill and decode from the engine's figures; what its two clocks disagree on comes off decode.

    Queue is TTFT - prefill: the scheduler's wait and the front end's own.
    """
    ttft = times.ttft_ns or 0
    e2e = times.e2e_ns if times.e2e_ns is not None else ttft + (times.decode_ns or max(0, wall_ns - ttft))
    prefill = times.prefill_ns
    if prefill is None:
        prefill = ttft - (times.queue_ns or 0)
    prefill = min(max(0, prefill), ttft)
    return Durations(queue_ns=ttft - prefill, prefill_ns=prefill, decode_ns=max(0, e2e - ttft))


def lay_engine_times(call: CallDraft, times: EngineTimes) -> None:
    """Split the call by its engine's figures; sets parts, first token, durations and source."""
    begin = _last_attempt(call)
    spent = durations(times, call.end - begin)
    e2e = spent.queue_ns + spent.prefill_ns + spent.decode_ns
    transport = max(0, (call.end - begin) - e2e)
    before = transport // 2
    if call.first_token is not None:
        seen = call.first_token - begin - spent.queue_ns - spent.prefill_ns
        before = min(max(0, seen), transport)
        if seen - before > HELD_BACK_NS:
            call.timed_by.warn(
                "first_token_held_back",
                f"the client saw its first token {seen - before} ns after it was made; counted as decode",
            )
    if e2e > call.end - begin + HELD_BACK_NS:
        call.timed_by.warn(
            "engine_longer_than_call", f"the engine tells {e2e} ns for a call of {call.end - begin} ns; cut"
        )
    lengths = (
        (TRANSPORT, before),
        (QUEUE, spent.queue_ns),
        (PREFILL, spent.prefill_ns),
        (DECODE, spent.decode_ns),
        (TRANSPORT, transport - before),
    )
    at = begin
    for owner, length in lengths:
        until = min(at + length, call.end)
        if until > at:
            call.parts.append(Part(start=at, end=until, owner=owner))
        if owner is PREFILL:
            call.first_token = until
        at = until
    call.source = BY_ENGINE
    call.queue_ns, call.prefill_ns, call.decode_ns = spent.queue_ns, spent.prefill_ns, spent.decode_ns
    call.transport_ns = transport


def _last_attempt(call: CallDraft) -> int:
    """Where the request that the engine served began. Failed attempts before it are unsplit; the client's own
    work before and between requests is nobody's, so the scope's background owns it.

    call  |----------------------------------------|
    http     |-- failed --|         |-- served --|
          own|model_unsplit|  pause |
    """
    if not call.engines or not call.https:
        return call.start
    begin = min(max(call.https[-1].start, call.start), call.end)
    at = call.start
    for http in call.https[:-1]:
        at, until = max(at, http.start), min(http.end, begin)
        if until > at:
            call.parts.append(Part(start=at, end=until, owner=MODEL_UNSPLIT))
            at = until
    return begin

"""Splitting one call's time into queue, prefill, decode and transport, by the best source that knows.

The order is the model's (docs/latency-model.md, "Where facts come from"): the engine, the client, arithmetic on either,
an estimate, nobody. An estimate comes after the calls were cut where their tools start: it counts back from the end.
"""

from __future__ import annotations

from ingest.semconv.facts import CALL
from ingest.stages.drafts import CallDraft, Part
from ingest.stages.engine_times import engine_times, lay_engine_times
from ingest.stages.estimate import Basis, estimate
from ingest.stages.first_token import settle_first_token
from ingest.stages.model import BY_ENGINE, DECODE, ESTIMATED, MODEL_UNSPLIT, PREFILL, UNKNOWN


def split_call(call: CallDraft) -> None:
    """Settle window, first token, source and parts of a call. Its stages are named later, by its scope."""
    settle_first_token(call)
    _count_attempts(call)
    times = engine_times(call)
    if times is not None:
        lay_engine_times(call, times)
    elif call.first_token is not None:
        _split_at(call, call.first_token)
    else:
        _leave_unsplit(call)


def split_by_estimate(call: CallDraft, basis: Basis) -> None:
    """Split a call whose source is unknown by others' speed, or leave it as it is."""
    told = call.told
    if call.source is not UNKNOWN or told.error or call.failed_attempts or (told.attempt or 1) > 1:
        return
    at = estimate(start_ns=call.start, end_ns=call.end, output_tokens=told.output_tokens, basis=basis)
    if at is not None:
        call.first_token, call.source = at, ESTIMATED
        _split_at(call, at)


def _split_at(call: CallDraft, first_token: int) -> None:
    begin = min(_begin(call), first_token)
    call.parts = [
        Part(start=begin, end=first_token, owner=PREFILL),
        Part(start=first_token, end=call.end, owner=DECODE),
    ]
    call.prefill_ns, call.decode_ns = first_token - begin, call.end - first_token


def _begin(call: CallDraft) -> int:
    """Where the attempt that answered begins; the failed ones before it, if they have spans, claim their own time."""
    return call.timed_by.start if call.failed else call.start


def _leave_unsplit(call: CallDraft) -> None:
    call.source = UNKNOWN
    call.parts = [Part(start=_begin(call), end=call.end, owner=MODEL_UNSPLIT)]


def _count_attempts(call: CallDraft) -> None:
    call.https.sort(key=lambda node: node.key())
    if len(call.https) > 1 and call.nodes[0].kind is CALL:
        call.failed_attempts = max(call.failed_attempts, len(call.https) - 1)
        call.timed_by.warn(
            "retries_inside", f"{len(call.https)} requests inside one model span: its time holds retries"
        )


def cut_call(call: CallDraft, at: int) -> None:
    """End a call at the start of a tool it asked for, its output being complete.

    call  |= prefill =|== decode ==|..............|   its span stays open until the tools have run
    tool                           |-- tool --|
    """
    if not call.start < at < call.end:
        return
    call.end = at
    call.parts = [
        Part(start=part.start, end=min(part.end, at), owner=part.owner) for part in call.parts if part.start < at
    ]
    if call.decode_ns is not None and call.source is not BY_ENGINE:
        call.decode_ns = sum(part.end - part.start for part in call.parts if part.owner is DECODE)

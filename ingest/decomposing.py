"""From dirty traces to runs. A worker claims traces by lease, reads their chunks, decomposes them with the
pure kernel and writes the runs; in the same transaction it clears exactly the marks it has read.

A worker that dies gives its claims back by doing nothing: the lease ends and the next one takes them, one by one.
A database that fails gives them back at once, or as soon as it answers again, and no trace has been tried for it.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from ingest import basis, joining, leases
from ingest.found import Body, Found
from ingest.joining import Offer
from ingest.leases import Claim
from ingest.log_chunks import spans_with_events
from ingest.models.telemetry import Signal
from ingest.observing import passes
from ingest.replacing import replace_runs
from ingest.spans import Span
from ingest.stages import decompose
from ingest.stages.model import Run
from ingest.stored import read_bodies
from ingest.trouble import is_the_databases

log = logging.getLogger(__name__)

CLAIM_TRACES = 200
READ_AT_ONCE, READ_BYTES = 50, 256 << 10
PASS_S = 8.0  # then what is still undone of a claim is given back, well before its lease ends


@dataclass(frozen=True, slots=True)
class Decomposed:
    """What a pass has done: how many traces were claimed, the runs written, by project, and whether more may be due."""

    traces: int
    runs: dict[int, list[Run]]
    more: bool = False


def decompose_dirty(now_ns: int, idle_ns: int, limit: int = CLAIM_TRACES) -> Decomposed:
    """Claim up to ``limit`` dirty traces, decompose them and write their runs.

    ``idle_ns`` is how long a run without its root may stay silent before it counts as settled. A trace whose
    decomposition fails is set aside with its reason and tried again later, some times; the others go on.
    Raises what the database fails with, after giving everything back that is not done.
    """
    began_s = time.perf_counter()
    leases.give_back_what_is_owed()
    claims = leases.claim(now_ns, limit)
    if not claims:
        return Decomposed(0, {})
    try:
        found = _carry_out(claims, now_ns, idle_ns)
    except Exception as error:
        if is_the_databases(error):
            leases.owe(claims)  # those that are done have no mark with this lease any more
            leases.give_back_what_is_owed()
        raise
    runs: dict[int, list[Run]] = defaultdict(list)
    for one in found:
        runs[one.claim.project_id].extend(one.runs)
    passes.written(
        [one.claim.received_unix_ns for one in found],
        sum(one.decomposition.spans for one in found),
        [run for changed in runs.values() for run in changed],
    )
    passes.passed(began_s)
    return Decomposed(len(claims), dict(runs), more=len(claims) == limit or claims[0].is_alone)


def _carry_out(claims: Sequence[Claim], now_ns: int, idle_ns: int) -> list[Found]:
    found = _decompose_each(claims, now_ns)
    found = _together_or_each(_join_engines, found, now_ns)
    found = _together_or_each(_estimate, found, now_ns)
    return _together_or_each(partial(replace_runs, now_ns=now_ns, idle_ns=idle_ns), found, now_ns)


def _decompose_each(claims: Sequence[Claim], now_ns: int) -> list[Found]:
    """Some traces at a time are read and then decomposed: what does one kind of work again and again finds itself in
    the processor's caches (a tenth less time than trace by trace); more at once push each other out of them."""
    bodies = _read_bodies(claims)
    found: list[Found] = []
    until_s = time.monotonic() + PASS_S
    for part in _parts(claims, bodies):
        if part[0] is not claims[0] and time.monotonic() > until_s:
            leases.give_back(claims[claims.index(part[0]) :])
            break
        read: list[tuple[Claim, list[Span]]] = []
        for claim in part:
            with _aside(claim, now_ns):
                read.append((claim, spans_with_events(bodies[claim.key], claim.trace_id.hex())))
        for claim, spans in read:
            with _aside(claim, now_ns):
                found.append(_found(claim, bodies[claim.key], spans))
    return found


def _parts(claims: Sequence[Claim], bodies: Mapping[tuple[bytes, int], list[Body]]) -> Iterator[list[Claim]]:
    """Traces that are read together: few enough, and of long ones each alone."""
    part: list[Claim] = []
    size_bytes = 0
    for claim in claims:
        own_bytes = sum(len(body) for _, body in bodies[claim.key])
        if part and (len(part) == READ_AT_ONCE or size_bytes + own_bytes > READ_BYTES):
            yield part
            part, size_bytes = [], 0
        part.append(claim)
        size_bytes += own_bytes
    yield part


@contextmanager
def _aside(claim: Claim, now_ns: int) -> Iterator[None]:
    """Set the trace aside whose work fails; what the database fails with is raised."""
    try:
        yield
    except Exception as error:
        if is_the_databases(error):
            raise
        leases.set_aside(claim, error, now_ns)


def _together_or_each(
    step: Callable[[Sequence[Found]], list[Found]], found: Sequence[Found], now_ns: int
) -> list[Found]:
    """Those with which a step is done: for all together, or where that fails in the slow way, so that one trace's
    oddity does not hold up the others. A step does all or nothing."""
    try:
        return step(found)
    except Exception as error:
        if is_the_databases(error):
            raise
        log.warning("a pass of %d traces goes on one by one", len(found), exc_info=True)
    done: list[Found] = []
    for one in found:
        with _aside(one.claim, now_ns):
            done += step([one])
    return done


def _found(claim: Claim, bodies: list[Body], spans: list[Span]) -> Found:
    decomposition = decompose(spans)
    lone = joining.lone_engine_runs(decomposition, spans)
    offers = {
        run.root_span_id: Offer(
            project_id=claim.project_id, response_id=run.calls[0].response_id or "", trace_id=claim.trace_id,
            span_id=bytes.fromhex(run.root_span_id), day=claim.day,
        )
        for run in lone
    }  # fmt: skip
    kept = spans if offers or basis.questions(decomposition, claim.project_id, claim.day) else None
    return Found(claim=claim, bodies=bodies, decomposition=decomposition, offers=offers, kept=kept)


def _join_engines(found: Sequence[Found]) -> list[Found]:
    """Decompose again, with their engines' spans from other traces, those whose calls are offered some."""
    if not joining.any_offers() and not any(one.offers for one in found):
        return list(found)
    open_here = [joining.open_calls(one.decomposition) for one in found]
    wanted: dict[int, set[str]] = defaultdict(set)
    for one, response_ids in zip(found, open_here, strict=True):
        wanted[one.claim.project_id] |= response_ids
    engine_spans = joining.read_offered(joining.find_offers(wanted))
    for one in found:
        if one.offers:
            engine_spans |= {offer: span for span in one.spans if (offer := one.offers.get(span.span_id))}
    offers: dict[tuple[int, str], list[Offer]] = defaultdict(list)
    for offer in engine_spans:
        offers[offer.project_id, offer.response_id].append(offer)
    joined = []
    for one, response_ids in zip(found, open_here, strict=True):
        claim = one.claim
        near = [offer for each in response_ids for offer in offers.get((claim.project_id, each), ())]
        near = [offer for offer in near if offer.trace_id != claim.trace_id]
        if near:
            spans = [engine_spans[offer] for offer in near]
            decomposition = decompose(one.spans, spans)
            open_still = joining.open_calls(decomposition)
            joined.append((one, decomposition, spans, [o for o in near if o.response_id not in open_still]))
    for one, decomposition, spans, taken in joined:
        one.decomposition, one.engine_spans, one.taken = decomposition, spans, taken
    return list(found)


def _estimate(found: Sequence[Found]) -> list[Found]:
    """Decompose again those with calls that nobody splits, by the basis they had before or one measured now.

    Nothing is read where every call is split, and what is read is bounded: see ``basis``.
    """
    asked = [
        (one, questions)
        for one in found
        if (questions := basis.questions(one.decomposition, one.claim.project_id, one.claim.day))
    ]
    if not asked:
        return list(found)
    answers = basis.answer([(one.claim.key, one.claim.day, questions) for one, questions in asked])
    estimated = []
    for (one, _), told in zip(asked, answers, strict=True):
        bases = {key: measured for key, measured in told.items() if measured is not None and measured.is_enough}
        estimated.append((one, told, decompose(one.spans, one.engine_spans, bases) if bases else one.decomposition))
    for one, told, decomposition in estimated:
        one.answers, one.decomposition = told, decomposition
    return list(found)


def _read_bodies(claims: Sequence[Claim]) -> dict[tuple[bytes, int], list[Body]]:
    """Each trace's chunks and what they hold, in the order of their receipt."""
    bodies: dict[tuple[bytes, int], list[Body]] = {claim.key: [] for claim in claims}
    places = [(claim.trace_id, claim.project_id, claim.day) for claim in claims]
    for trace_id, project_id, signal, body in read_bodies(places, Signal.TRACES, Signal.LOGS):
        bodies[trace_id, project_id].append((signal, body))
    return bodies

"""From dirty traces to runs. A worker claims traces by lease, reads their chunks, decomposes them with the
pure kernel and writes the runs; in the same transaction it clears exactly the marks it has read.

A worker that dies gives its claims back by doing nothing: the lease ends and the next one takes them, one by one.
A database that fails gives them back at once, or as soon as it answers again, and no trace has been tried for it.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from django.db import transaction

from ingest import basis, joining, leases
from ingest.joining import Offer
from ingest.leases import Claim
from ingest.log_chunks import spans_with_events
from ingest.models.telemetry import Signal
from ingest.observing import passes
from ingest.rollups.applying import take_back, told_call, told_run, told_tool, write_deltas
from ingest.rollups.counting import Gathered
from ingest.rows import Rows
from ingest.spans import Span
from ingest.stages import decompose
from ingest.stages.model import Decomposition, Run
from ingest.stored import direct_cursor, read_bodies
from ingest.trouble import is_the_databases

log = logging.getLogger(__name__)

CLAIM_TRACES = 200
PASS_S = 8.0  # then what is still undone of a claim is given back, well before its lease ends
SETTLE_NS = 3 * 10**9
Body = tuple[int, bytes]  # a chunk: its signal, and its content compressed

# Locks the marks until commit. One that has risen, or was claimed anew after our lease ended, is not ours to clear.
# Tells too which traces have had runs: most are new, and looking thrice for nothing to delete has its price.
HOLD = """
    SELECT dirty.trace_id, dirty.project_id, EXISTS (
        SELECT FROM ingest_run AS old
        WHERE (old.trace_id, old.project_id, old.day) = (dirty.trace_id, dirty.project_id, dirty.day)
    ) AS has_runs
    FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[], %(leases)b::bigint[])
        AS mine (trace_id, project_id, lease)
    JOIN ingest_dirty_trace AS dirty USING (trace_id, project_id)
    WHERE dirty.claimed_until_unix_ns = mine.lease
    ORDER BY trace_id, project_id FOR UPDATE OF dirty
"""
# What these traces had goes, and is told.
DROP = f"""
    WITH mine AS MATERIALIZED (
        SELECT * FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[], %(days)b::date[])
            AS mine (trace_id, project_id, day)
    ), no_runs AS (
        DELETE FROM ingest_run AS old USING mine
        WHERE (old.trace_id, old.project_id, old.day) = (mine.trace_id, mine.project_id, mine.day)
        RETURNING {told_run("old")}
    ), no_calls AS (
        DELETE FROM ingest_call AS old USING mine
        WHERE (old.trace_id, old.project_id, old.day) = (mine.trace_id, mine.project_id, mine.day)
        RETURNING {told_call("old")}
    ), no_tools AS (
        DELETE FROM ingest_tool AS old USING mine
        WHERE (old.trace_id, old.project_id, old.day) = (mine.trace_id, mine.project_id, mine.day)
        RETURNING {told_tool("old")}
    )
    SELECT kind, told FROM no_runs UNION ALL SELECT kind, told FROM no_calls UNION ALL SELECT kind, told FROM no_tools
"""
# Their marks go; where one has risen meanwhile only the lease ends.
CLEAR = """
    WITH mine AS MATERIALIZED (
        SELECT * FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[], %(generations)b::int[],
                             %(leases)b::bigint[]) AS mine (trace_id, project_id, generation, lease)
    ), cleared AS (
        DELETE FROM ingest_dirty_trace AS dirty USING mine
        WHERE (dirty.trace_id, dirty.project_id, dirty.generation) = (mine.trace_id, mine.project_id, mine.generation)
    )
    UPDATE ingest_dirty_trace AS dirty SET claimed_until_unix_ns = 0, tries = 0, error = '' FROM mine
    WHERE dirty.trace_id = mine.trace_id AND dirty.project_id = mine.project_id
      AND dirty.generation <> mine.generation AND dirty.claimed_until_unix_ns = mine.lease
"""


@dataclass(slots=True, kw_only=True)
class Found:
    """A claimed trace and what it holds. ``offers`` are its engine spans that stand alone, by span id; those in
    ``served`` belong to calls elsewhere; ``taken`` are offers of other traces that its own calls have claimed, and
    ``engine_spans`` what these tell. ``answers`` are what its calls of unknown split may be estimated by.

    ``kept`` are its spans where it is foreseen that they are needed again. Keeping those of a whole pass makes reading
    and decomposing a quarter dearer: nothing would be left in the caches."""

    claim: Claim
    bodies: list[Body]
    decomposition: Decomposition
    kept: list[Span] | None = None
    offers: dict[str, Offer]
    served: set[str] = field(default_factory=set)
    taken: list[Offer] = field(default_factory=list)
    engine_spans: list[Span] = field(default_factory=list)
    answers: basis.Answers = field(default_factory=dict)

    @property
    def spans(self) -> list[Span]:
        return spans_with_events(self.bodies) if self.kept is None else self.kept

    @property
    def runs(self) -> list[Run]:
        return [run for run in self.decomposition.runs if run.root_span_id not in self.served]


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
    return _together_or_each(partial(_write, now_ns=now_ns, idle_ns=idle_ns), found, now_ns)


def _decompose_each(claims: Sequence[Claim], now_ns: int) -> list[Found]:
    bodies = _read_bodies(claims)
    found: list[Found] = []
    until_s = time.monotonic() + PASS_S
    for done, claim in enumerate(claims):
        if done and time.monotonic() > until_s:
            leases.give_back(claims[done:])
            break
        try:
            found.append(_found(claim, bodies[claim.key]))
        except Exception as error:
            if is_the_databases(error):
                raise
            leases.set_aside(claim, error, now_ns)
    return found


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
        try:
            done += step([one])
        except Exception as error:
            if is_the_databases(error):
                raise
            leases.set_aside(one.claim, error, now_ns)
    return done


def _found(claim: Claim, bodies: list[Body]) -> Found:
    spans = spans_with_events(bodies)
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


def _write(found: Sequence[Found], now_ns: int, idle_ns: int) -> list[Found]:
    """Replace the runs of these traces and clear their marks; those whose lease was lost are left to others."""
    if not found:
        return []
    with transaction.atomic(), direct_cursor() as cursor:
        cursor.execute(HOLD, leases.arrays([one.claim for one in found]), prepare=True)
        had_runs = {(trace_id, project_id): has_runs for trace_id, project_id, has_runs in cursor.fetchall()}
        mine = [one for one in found if one.claim.key in had_runs]
        taken = joining.make_offers(cursor, [offer for one in mine for offer in one.offers.values()], now_ns)
        rows = Rows()
        for one in mine:
            claim = one.claim
            one.served = {
                span_id for span_id, o in one.offers.items() if (o.project_id, o.trace_id, o.span_id) in taken
            }
            for run in one.runs:
                settles_ns = claim.received_unix_ns + (SETTLE_NS if run.root_ended else idle_ns)
                answers = basis.as_detail(one.answers, run.service)
                rows.add(run, claim.project_id, claim.day, settles_ns, one.decomposition.spans, answers)
        gathered = Gathered()
        cursor.execute(CLEAR, leases.arrays([one.claim for one in mine]), prepare=True)
        if known := [one.claim for one in mine if had_runs[one.claim.key]]:
            cursor.execute(DROP, leases.arrays(known), prepare=True)
            take_back(gathered, cursor.fetchall())
        rows.copy(cursor)
        gathered.add_rows(rows)
        alone = joining.take_offers(cursor, [(offer, one.claim.trace_id) for one in mine for offer in one.taken])
        take_back(gathered, alone)
        write_deltas(cursor, gathered)
    return mine

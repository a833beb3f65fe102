"""Engine spans and the calls they served, where no trace context joins them: by response id, across traces.

An engine's span alone in its trace is a run of one call, until a client's call with its response id claims it.
Either may come first. The engine's side offers its span when its trace is decomposed; the client's side looks
for offers when its trace is. Where the two passes cross, neither sees the other, so open offers are looked at
again by the sweep, at growing intervals.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.chunks import spans_of
from ingest.models.telemetry import Signal
from ingest.rollups.applying import told_call, told_run
from ingest.rows import of_run_sql, response_hash
from ingest.semconv import read_facts
from ingest.semconv.facts import Kind
from ingest.spans import Span
from ingest.stages.model import Decomposition, Run, Source
from ingest.stored import direct_cursor, read_bodies

log = logging.getLogger(__name__)

LOOK_AGAIN_NS = (1 * 10**9, 10 * 10**9, 60 * 10**9, 600 * 10**9)
LOOKS_A_SWEEP = 1000
MOST_CHOICES = 128  # engines' spans of one response: one for each of its choices
LONGEST_ID = 200  # characters; what is longer is no response id, and no index key

# Most installations trace no engine; then there is nothing to look each call's response up in.
ANY_OFFERS = "SELECT EXISTS (SELECT FROM ingest_engine_span)"
FIND_OFFERS = """
    SELECT offer.project_id, offer.response_id, offer.trace_id, offer.span_id, offer.day
    FROM unnest(%(project_ids)b::int[], %(response_ids)b::text[]) AS wanted (project_id, response_id)
    CROSS JOIN LATERAL (
        SELECT * FROM ingest_engine_span AS one
        WHERE one.response_id = wanted.response_id AND one.project_id = wanted.project_id
        ORDER BY one.trace_id, one.span_id LIMIT %(most)s
    ) AS offer
"""
OFFER = """
    INSERT INTO ingest_engine_span AS offer
        (day, project_id, response_id, response_hash, trace_id, span_id, due_unix_ns, looks)
    SELECT new.day, new.project_id, new.response_id, new.response_hash, new.trace_id, new.span_id, %(due_ns)s, 0
    FROM unnest(%(days)s::date[], %(project_ids)s::int[], %(response_ids)s::text[], %(response_hashes)s::int[],
                %(trace_ids)s::bytea[], %(span_ids)s::bytea[])
        AS new (day, project_id, response_id, response_hash, trace_id, span_id)
    ORDER BY new.response_id, new.trace_id, new.span_id
    ON CONFLICT (response_id, trace_id, span_id, project_id, day)
        DO UPDATE SET looks = 0, due_unix_ns = excluded.due_unix_ns
    RETURNING offer.project_id, offer.trace_id, offer.span_id, offer.client_trace_id
"""
TAKE = """
    UPDATE ingest_engine_span AS offer SET client_trace_id = taken.client_trace_id
    FROM unnest(%(response_ids)s::text[], %(trace_ids)s::bytea[], %(span_ids)s::bytea[], %(project_ids)s::int[],
                %(days)s::date[], %(client_trace_ids)s::bytea[])
        AS taken (response_id, trace_id, span_id, project_id, day, client_trace_id)
    WHERE (offer.response_id, offer.trace_id, offer.span_id, offer.project_id, offer.day)
        = (taken.response_id, taken.trace_id, taken.span_id, taken.project_id, taken.day)
"""
# Their calls by the runs: those of a trace's only run tell no root of their own (``ingest/rows.py``).
DROP_RUNS = f"""
    WITH alone AS MATERIALIZED (
        SELECT run.trace_id, run.root_span_id, run.project_id, run.day
        FROM unnest(%(trace_ids)s::bytea[], %(span_ids)s::bytea[], %(project_ids)s::int[], %(days)s::date[])
            AS taken (trace_id, root_span_id, project_id, day)
        JOIN ingest_run AS run USING (trace_id, root_span_id, project_id, day)
    ), no_calls AS (
        DELETE FROM ingest_call AS old USING alone
        WHERE (old.trace_id, old.project_id, old.day) = (alone.trace_id, alone.project_id, alone.day)
          AND {of_run_sql("old", "alone")}
        RETURNING {told_call("old")}
    ), no_runs AS (
        DELETE FROM ingest_run AS old USING alone
        WHERE (old.trace_id, old.root_span_id, old.project_id, old.day)
            = (alone.trace_id, alone.root_span_id, alone.project_id, alone.day)
        RETURNING {told_run("old")}
    )
    SELECT kind, told FROM no_runs UNION ALL SELECT kind, told FROM no_calls
"""
# Offers nobody has taken: have their calls come meanwhile? Their traces are due again, and will find the offer.
LOOK = """
    WITH open AS (
        SELECT * FROM ingest_engine_span
        WHERE client_trace_id IS NULL AND due_unix_ns <= %(now_ns)s AND looks < %(most)s
        ORDER BY due_unix_ns LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ), looked AS (
        UPDATE ingest_engine_span AS offer
        SET looks = offer.looks + 1,
            due_unix_ns = %(now_ns)s + (%(again_ns)s::bigint[])[least(offer.looks + 2, %(most)s)]
        FROM open WHERE (offer.response_id, offer.trace_id, offer.span_id, offer.project_id, offer.day)
            = (open.response_id, open.trace_id, open.span_id, open.project_id, open.day)
    )
    INSERT INTO ingest_dirty_trace AS dirty (trace_id, project_id, day, generation, received_unix_ns, due_unix_ns,
                                             claimed_until_unix_ns, tries, error)
    SELECT DISTINCT call.trace_id, call.project_id, call.day, 1, %(now_ns)s, %(now_ns)s, 0, 0, ''
    FROM open JOIN ingest_call AS call USING (response_hash, project_id)
    WHERE call.trace_id <> open.trace_id
    ORDER BY call.trace_id, call.project_id
    ON CONFLICT (trace_id, project_id)
        DO UPDATE SET generation = dirty.generation + 1, due_unix_ns = excluded.due_unix_ns
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """An engine's span in a trace of its own. Of a response with several choices there are several."""

    project_id: int
    response_id: str
    trace_id: bytes
    span_id: bytes
    day: Any


def open_calls(decomposition: Decomposition) -> set[str]:
    """Response ids of the calls that no engine span has told of yet."""
    return {
        call.response_id
        for run in decomposition.runs
        for call in run.calls
        if _usable(call.response_id) and call.source is not Source.ENGINE
    }


def _usable(response_id: str | None) -> bool:
    return response_id is not None and 0 < len(response_id) <= LONGEST_ID and "\x00" not in response_id


def lone_engine_runs(decomposition: Decomposition, spans: Iterable[Span]) -> list[Run]:
    """The runs that are nothing but an engine's span with a response id."""
    alone = {
        run.root_span_id: run
        for run in decomposition.runs
        if len(run.calls) == 1 and _usable(run.calls[0].response_id) and run.calls[0].span_id == run.root_span_id
    }
    if not alone:
        return []
    return [alone[s.span_id] for s in spans if s.span_id in alone and read_facts(s).kind is Kind.ENGINE]


def any_offers() -> bool:
    """Whether any engine is traced at all; mostly none is, and then nobody need look each response up."""
    with direct_cursor() as cursor:
        cursor.execute(ANY_OFFERS, prepare=True)
        return bool(cursor.fetchone() == (True,))


def find_offers(wanted: Mapping[int, set[str]]) -> list[Offer]:
    """Offers for the response ids wanted in each project."""
    pairs = [(project_id, response_id) for project_id, ids in wanted.items() for response_id in sorted(ids)]
    if not pairs:
        return []
    arrays = {"project_ids": [p for p, _ in pairs], "response_ids": [r for _, r in pairs]}
    with direct_cursor() as cursor:
        cursor.execute(FIND_OFFERS, arrays | {"most": MOST_CHOICES}, prepare=True)
        return [
            Offer(project_id=p, response_id=r, trace_id=bytes(t), span_id=bytes(s), day=d)
            for p, r, t, s, d in cursor.fetchall()
        ]


def read_offered(offers: Sequence[Offer]) -> dict[Offer, Span]:
    """The offered spans. A chunk that cannot be read offers nothing: its own trace is set aside for it."""
    wanted = {(offer.project_id, offer.trace_id, offer.span_id.hex()): offer for offer in offers}
    found: dict[Offer, Span] = {}
    if not wanted:
        return found
    places = {(offer.trace_id, offer.project_id, offer.day) for offer in offers}
    for trace_id, project_id, _, body in read_bodies(places, Signal.TRACES):
        try:
            spans = list(spans_of(body, trace_id.hex()))
        except Exception:
            log.exception("an engine's trace %s cannot be read", trace_id.hex())
            continue
        for span in spans:
            if offer := wanted.get((project_id, trace_id, span.span_id)):
                found[offer] = span
    return found


def make_offers(cursor: Any, offers: Sequence[Offer], now_ns: int) -> set[tuple[int, bytes, bytes]]:
    """Offer engine spans; returns (project, trace, span) of those that a call has claimed already."""
    if not offers:
        return set()
    cursor.execute(OFFER, _arrays(offers) | {"due_ns": now_ns + LOOK_AGAIN_NS[0]})
    return {(p, bytes(t), bytes(s)) for p, t, s, client in cursor.fetchall() if client is not None}


def take_offers(cursor: Any, taken: Sequence[tuple[Offer, bytes]]) -> list[tuple[Any, ...]]:
    """Say which trace's call has claimed each span, and drop the runs that the spans made alone; tells their rows."""
    if not taken:
        return []
    taken = sorted(taken, key=lambda pair: (pair[0].response_id, pair[0].trace_id, pair[0].span_id))
    arrays = _arrays([offer for offer, _ in taken]) | {"client_trace_ids": [client for _, client in taken]}
    cursor.execute(TAKE, arrays)
    cursor.execute(DROP_RUNS, arrays)
    return list(cursor.fetchall())


def look_again(now_ns: int) -> int:
    """Mark the traces dirty whose calls have come since their engine's span was offered; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            LOOK,
            {"now_ns": now_ns, "most": len(LOOK_AGAIN_NS), "again_ns": list(LOOK_AGAIN_NS), "limit": LOOKS_A_SWEEP},
        )
        return int(cursor.rowcount)


def _arrays(offers: Sequence[Offer]) -> dict[str, Any]:
    return {
        "days": [offer.day for offer in offers],
        "project_ids": [offer.project_id for offer in offers],
        "response_ids": [offer.response_id for offer in offers],
        "response_hashes": [response_hash(offer.response_id) for offer in offers],
        "trace_ids": [offer.trace_id for offer in offers],
        "span_ids": [offer.span_id for offer in offers],
    }

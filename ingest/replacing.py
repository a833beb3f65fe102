"""The runs of decomposed traces take the place of former ones, with all that is counted by them, and the marks that
said that there is work are cleared: all in one transaction, or nothing of it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction

from ingest import basis, joining, leases
from ingest.found import Found
from ingest.rollups.applying import take_back, told_call, told_run, told_tool, write_deltas
from ingest.rollups.counting import Gathered
from ingest.rows import Rows
from ingest.stored import direct_cursor

SETTLE_NS = 3 * 10**9

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


def replace_runs(found: Sequence[Found], now_ns: int, idle_ns: int) -> list[Found]:
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
            is_only = len(one.runs) == 1
            for run in one.runs:
                settles_ns = claim.received_unix_ns + (SETTLE_NS if run.root_ended else idle_ns)
                answers = basis.as_detail(one.answers, run.service)
                spans = one.decomposition.spans
                rows.add(run, claim.project_id, claim.day, settles_ns, spans, answers, is_only=is_only)
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

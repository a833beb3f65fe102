"""From dirty traces to runs. A worker claims traces by lease, reads their chunks, decomposes them with the
pure kernel and writes the runs; in the same transaction it clears exactly the marks it has read.

A worker that dies gives its claims back by doing nothing: the lease ends and the next one takes them.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction

from ingest.chunks import spans_of
from ingest.models.telemetry import Signal
from ingest.rows import call_row, run_row, tool_row, write_rows
from ingest.stages import decompose
from ingest.stages.model import Decomposition, Run

log = logging.getLogger(__name__)

CLAIM_TRACES = 200
LEASE_NS = 60 * 10**9
SETTLE_NS = 3 * 10**9
MAX_TRIES = 5
BACK_OFF_NS = 10 * 10**9

CLAIM = """
    UPDATE ingest_dirty_trace AS dirty SET claimed_until_unix_ns = %(until_ns)s
    FROM (
        SELECT trace_id, project_id FROM ingest_dirty_trace
        WHERE due_unix_ns <= %(now_ns)s AND claimed_until_unix_ns < %(now_ns)s AND tries < %(max_tries)s
        ORDER BY due_unix_ns LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ) AS free
    WHERE dirty.trace_id = free.trace_id AND dirty.project_id = free.project_id
    RETURNING dirty.trace_id, dirty.project_id, dirty.day, dirty.generation, dirty.received_unix_ns,
              dirty.claimed_until_unix_ns, dirty.tries
"""
READ_CHUNKS = """
    SELECT chunk.trace_id, chunk.project_id, chunk.body
    FROM unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(days)s::date[]) AS wanted (trace_id, project_id, day)
    JOIN ingest_chunk AS chunk USING (trace_id, project_id, day)
    WHERE chunk.signal = %(signal)s
    ORDER BY chunk.received_unix_ns, chunk.digest
"""
# Locks the marks until commit. One that has risen, or was claimed anew after our lease ended, is not ours to clear.
HOLD = """
    SELECT dirty.trace_id, dirty.project_id
    FROM unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(leases)s::bigint[])
        AS mine (trace_id, project_id, lease)
    JOIN ingest_dirty_trace AS dirty USING (trace_id, project_id)
    WHERE dirty.claimed_until_unix_ns = mine.lease
    ORDER BY trace_id, project_id FOR UPDATE OF dirty
"""
CLEAR = """
    DELETE FROM ingest_dirty_trace AS dirty
    USING unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(generations)s::int[])
        AS done (trace_id, project_id, generation)
    WHERE dirty.trace_id = done.trace_id AND dirty.project_id = done.project_id AND dirty.generation = done.generation
"""
RELEASE = """
    UPDATE ingest_dirty_trace AS dirty SET claimed_until_unix_ns = 0
    FROM unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(leases)s::bigint[])
        AS mine (trace_id, project_id, lease)
    WHERE dirty.trace_id = mine.trace_id AND dirty.project_id = mine.project_id
      AND dirty.claimed_until_unix_ns = mine.lease
"""
SET_ASIDE = """
    UPDATE ingest_dirty_trace SET tries = tries + 1, error = %(error)s, claimed_until_unix_ns = 0,
        due_unix_ns = %(due_ns)s
    WHERE trace_id = %(trace_id)s AND project_id = %(project_id)s AND claimed_until_unix_ns = %(lease)s
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """A trace that this worker may decompose until ``lease_unix_ns``."""

    trace_id: bytes
    project_id: int
    day: dt.date
    generation: int
    received_unix_ns: int
    lease_unix_ns: int
    tries: int

    @property
    def key(self) -> tuple[bytes, int]:
        return self.trace_id, self.project_id


@dataclass(frozen=True, slots=True)
class Decomposed:
    """What a pass has done: how many traces were claimed, and the runs written, by project."""

    traces: int
    runs: dict[int, list[Run]]


def decompose_dirty(now_ns: int, idle_ns: int, limit: int = CLAIM_TRACES) -> Decomposed:
    """Claim up to ``limit`` dirty traces, decompose them and write their runs.

    ``idle_ns`` is how long a run without its root may stay silent before it counts as settled. A trace whose
    decomposition fails is set aside with its reason and tried again later, MAX_TRIES times; the others go on.
    """
    claims = _claim(now_ns, limit)
    if not claims:
        return Decomposed(0, {})
    bodies = _read_bodies(claims)
    found: list[tuple[Claim, Decomposition]] = []
    for claim in claims:
        try:
            spans = [span for body in bodies[claim.key] for span in spans_of(body)]
            found.append((claim, decompose(spans)))
        except Exception as error:
            log.exception("trace %s could not be decomposed", claim.trace_id.hex())
            _set_aside(claim, error, now_ns)
    try:
        written = _write(found, idle_ns)
    except Exception as error:
        if len(found) == 1:
            log.exception("the runs of trace %s could not be written", found[0][0].trace_id.hex())
            _set_aside(found[0][0], error, now_ns)
            written = []
        else:
            written = _write_one_by_one(found, idle_ns, now_ns)
    runs: dict[int, list[Run]] = defaultdict(list)
    for claim, decomposition in written:
        runs[claim.project_id].extend(decomposition.runs)
    return Decomposed(len(claims), dict(runs))


def _claim(now_ns: int, limit: int) -> list[Claim]:
    with connection.cursor() as cursor:
        cursor.execute(
            CLAIM,
            {"now_ns": now_ns, "until_ns": time.time_ns() + LEASE_NS, "limit": limit, "max_tries": MAX_TRIES},
        )
        return [Claim(bytes(trace_id), *rest) for trace_id, *rest in cursor.fetchall()]


def _read_bodies(claims: Sequence[Claim]) -> dict[tuple[bytes, int], list[bytes]]:
    """Each trace's chunks in the order of their receipt."""
    bodies: dict[tuple[bytes, int], list[bytes]] = {claim.key: [] for claim in claims}
    with connection.cursor() as cursor:
        cursor.execute(READ_CHUNKS, _arrays(claims) | {"signal": int(Signal.TRACES)})
        for trace_id, project_id, body in cursor:
            bodies[bytes(trace_id), project_id].append(bytes(body))
    return bodies


def _write(found: list[tuple[Claim, Decomposition]], idle_ns: int) -> list[tuple[Claim, Decomposition]]:
    """Replace the runs of these traces and clear their marks; those whose lease was lost are left to others."""
    if not found:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(HOLD, _arrays([claim for claim, _ in found]))
        held = {(bytes(trace_id), project_id) for trace_id, project_id in cursor.fetchall()}
        mine = [(claim, decomposition) for claim, decomposition in found if claim.key in held]
        claims = [claim for claim, _ in mine]
        runs, calls, tools = [], [], []
        for claim, decomposition in mine:
            for run in decomposition.runs:
                settles_ns = claim.received_unix_ns + (SETTLE_NS if run.root_ended else idle_ns)
                runs.append(run_row(run, claim.project_id, claim.day, settles_ns, decomposition.spans))
                calls += [call_row(call, run, claim.project_id, claim.day) for call in run.calls]
                tools += [tool_row(tool, run, claim.project_id, claim.day) for tool in run.tools]
        arrays = _arrays(claims)
        write_rows(cursor, arrays, runs, calls, tools)
        cursor.execute(CLEAR, arrays)
        cursor.execute(RELEASE, arrays)
    return mine


def _write_one_by_one(
    found: list[tuple[Claim, Decomposition]], idle_ns: int, now_ns: int
) -> list[tuple[Claim, Decomposition]]:
    """The slow way after a failed write, so that one trace's odd row does not hold up the others."""
    written = []
    for one in found:
        try:
            written += _write([one], idle_ns)
        except Exception as error:
            log.exception("the runs of trace %s could not be written", one[0].trace_id.hex())
            _set_aside(one[0], error, now_ns)
    return written


def _set_aside(claim: Claim, error: Exception, now_ns: int) -> None:
    reason = f"{type(error).__name__}: {error}".replace("\x00", "")[:1000]
    with connection.cursor() as cursor:
        cursor.execute(
            SET_ASIDE,
            {
                "trace_id": claim.trace_id, "project_id": claim.project_id, "lease": claim.lease_unix_ns,
                "error": reason, "due_ns": now_ns + BACK_OFF_NS * 2**claim.tries,
            },
        )  # fmt: skip


def _arrays(claims: Sequence[Claim]) -> dict[str, object]:
    return {
        "trace_ids": [claim.trace_id for claim in claims],
        "project_ids": [claim.project_id for claim in claims],
        "days": [claim.day for claim in claims],
        "generations": [claim.generation for claim in claims],
        "leases": [claim.lease_unix_ns for claim in claims],
    }

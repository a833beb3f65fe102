"""Which traces a worker may decompose, and until when: claims by lease, what is given back, what is set aside.

A worker that dies gives its claims back by doing nothing: the lease ends and the next one takes them, one by one.
A database that fails gives them back as soon as it answers again, and no trace has been tried for it.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from ingest.observing import passes
from ingest.stored import direct_cursor, leave_broken_connection
from ingest.trouble import is_the_databases

log = logging.getLogger(__name__)

LEASE_NS = 30 * 10**9
MAX_TRIES = 5
BACK_OFF_NS = 10 * 10**9
# Nobody claims for so long or puts off for so long: such a time was written while the clock was ahead.
NEVER_NS = BACK_OFF_NS * 2**MAX_TRIES

# A trace that was tried before is claimed alone. So a worker's death sets none aside but the one that was alone with
# its worker, again and again; those that were in a batch with it are done one by one. The eldest decides which it is.
# Locked rows are found again by their place: a queue that was empty when it was last counted is taken for empty, and a
# join by key then compares each of its rows with each of the claim's (measured: 300 ms a claim, 129 us a span).
CLAIM = """
    WITH due AS MATERIALIZED (
        SELECT ctid AS place, trace_id, project_id, due_unix_ns, tries FROM ingest_dirty_trace
        WHERE due_unix_ns <= %(now_ns)s AND tries < %(max_tries)s
          AND NOT claimed_until_unix_ns BETWEEN %(now_ns)s AND %(never_ns)s
        ORDER BY due_unix_ns LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    ), eldest AS (
        SELECT trace_id, project_id, tries FROM due ORDER BY due_unix_ns, trace_id, project_id LIMIT 1
    )
    UPDATE ingest_dirty_trace AS dirty
    SET claimed_until_unix_ns = %(until_ns)s, tries = dirty.tries + 1,
        error = CASE WHEN dirty.tries > 0 AND dirty.error = '' THEN %(died)s ELSE dirty.error END
    WHERE dirty.ctid = ANY (ARRAY(
        SELECT place FROM due, eldest
        WHERE (due.tries = 0 AND eldest.tries = 0)
           OR (due.trace_id = eldest.trace_id AND due.project_id = eldest.project_id)
    ))
    RETURNING dirty.trace_id, dirty.project_id, dirty.day, dirty.generation, dirty.received_unix_ns,
              dirty.claimed_until_unix_ns, dirty.tries
"""
DIED = "a pass with this trace ended without a result: its worker was killed, or ran out of memory or time"
# A try that was none. The reason of an earlier one stays.
RELEASE = """
    UPDATE ingest_dirty_trace AS dirty
    SET claimed_until_unix_ns = 0, tries = greatest(dirty.tries - 1, 0),
        error = CASE WHEN dirty.tries > 1 THEN dirty.error ELSE '' END
    FROM unnest(%(trace_ids)s::bytea[], %(project_ids)s::int[], %(leases)s::bigint[])
        AS mine (trace_id, project_id, lease)
    WHERE dirty.trace_id = mine.trace_id AND dirty.project_id = mine.project_id
      AND dirty.claimed_until_unix_ns = mine.lease
"""
SET_ASIDE = """
    UPDATE ingest_dirty_trace SET error = %(error)s, claimed_until_unix_ns = 0, due_unix_ns = %(due_ns)s
    WHERE trace_id = %(trace_id)s AND project_id = %(project_id)s AND claimed_until_unix_ns = %(lease)s
"""
# Marks from a time when the clock was ahead would wait until it is that late again.
CALL_BACK = """
    UPDATE ingest_dirty_trace SET due_unix_ns = %(now_ns)s
    WHERE (trace_id, project_id) IN (
        SELECT trace_id, project_id FROM ingest_dirty_trace WHERE due_unix_ns > %(never_ns)s FOR UPDATE SKIP LOCKED
    )
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

    @property
    def is_alone(self) -> bool:
        """Whether the trace was tried before: then nothing else is claimed with it."""
        return self.tries > 1


# What this process could not give back because the database did not answer. Lost with it: then the lease ends.
_owed: list[Claim] = []


def claim(now_ns: int, limit: int) -> list[Claim]:
    """The longest due, at most ``limit``. ``now_ns`` is the same clock for all workers."""
    with direct_cursor() as cursor:
        cursor.execute(
            CLAIM,
            {
                "now_ns": now_ns, "until_ns": now_ns + LEASE_NS, "limit": limit, "max_tries": MAX_TRIES,
                "died": DIED, "never_ns": now_ns + NEVER_NS,
            },
            prepare=True,
        )  # fmt: skip
        return [Claim(*row) for row in cursor.fetchall()]


def owe(claims: Sequence[Claim]) -> None:
    """These are to be given back untried."""
    _owed.extend(claims)


def give_back_what_is_owed() -> None:
    """Now, or at the next call if the database does not answer."""
    if not _owed:
        return
    leave_broken_connection()
    try:
        give_back(_owed)
    except Exception as error:
        if not is_the_databases(error):
            raise
        log.warning("%d traces are given back later: %s", len(_owed), error)
    else:
        _owed.clear()


def give_back(claims: Sequence[Claim]) -> None:
    """As if they had never been claimed. Those whose lease is another's by now stay as they are."""
    with connection.cursor() as cursor:
        cursor.execute(RELEASE, arrays(claims))


def set_aside(claim: Claim, error: Exception, now_ns: int) -> None:
    """Note why it failed; it is due again later, each time twice as late."""
    passes.failed(claim.trace_id, claim.project_id, error)
    reason = f"{type(error).__name__}: {error}".replace("\x00", "")[:1000]
    with connection.cursor() as cursor:
        cursor.execute(
            SET_ASIDE,
            {
                "trace_id": claim.trace_id, "project_id": claim.project_id, "lease": claim.lease_unix_ns,
                "error": reason, "due_ns": now_ns + BACK_OFF_NS * 2 ** (claim.tries - 1),
            },
        )  # fmt: skip


def call_back(now_ns: int) -> int:
    """Have traces due that are put off for longer than anything is; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(CALL_BACK, {"now_ns": now_ns, "never_ns": now_ns + NEVER_NS})
        return int(cursor.rowcount)


def arrays(claims: Sequence[Claim]) -> dict[str, object]:
    """As parameters of the statements that take many at once."""
    return {
        "trace_ids": [claim.trace_id for claim in claims],
        "project_ids": [claim.project_id for claim in claims],
        "days": [claim.day for claim in claims],
        "generations": [claim.generation for claim in claims],
        "leases": [claim.lease_unix_ns for claim in claims],
    }

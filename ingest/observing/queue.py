"""The queue of dirty traces as it is now, and the traces in it that no try could decompose."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.db import connection

from ingest import wake
from ingest.leases import MAX_TRIES
from ingest.scope import Scope

DEPTH = """
    SELECT count(*) FILTER (WHERE is_claimed),
           count(*) FILTER (WHERE NOT is_claimed AND tries < %(most)s AND (tries = 0 OR due_unix_ns <= %(now_ns)s)),
           count(*) FILTER (WHERE NOT is_claimed AND tries BETWEEN 1 AND %(most)s - 1 AND due_unix_ns > %(now_ns)s),
           count(*) FILTER (WHERE NOT is_claimed AND tries >= %(most)s),
           min(due_unix_ns) FILTER (WHERE is_claimed OR tries < %(most)s)
    FROM (SELECT claimed_until_unix_ns >= %(now_ns)s AS is_claimed, tries, due_unix_ns FROM ingest_dirty_trace) AS mark
"""
SET_ASIDE = """
    SELECT trace_id, day, tries, error, received_unix_ns,
           tries >= %(most)s AND claimed_until_unix_ns < %(now_ns)s AS given_up, due_unix_ns
    FROM ingest_dirty_trace
    WHERE project_id = %(project_id)s AND (error <> '' OR tries >= %(most)s)
      AND NOT (error = '' AND claimed_until_unix_ns >= %(now_ns)s)
    ORDER BY received_unix_ns DESC LIMIT %(limit)s
"""
AGAIN = """
    UPDATE ingest_dirty_trace SET tries = 0, error = '', due_unix_ns = %(now_ns)s
    WHERE project_id = %(project_id)s AND claimed_until_unix_ns < %(now_ns)s AND (error <> '' OR tries >= %(most)s)
      AND (%(trace_id)s::bytea IS NULL OR trace_id = %(trace_id)s)
"""
DIED = "Each worker that took it died, or took longer than its lease: too little memory, or a trace of enormous size?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """Traces by what they wait for: being decomposed now, a free worker, the next try, a person.

    ``oldest_age_ns`` is how long the longest of the first three is overdue; None where none is.
    """

    claimed: int
    due: int
    retrying: int
    set_aside: int
    oldest_age_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """A trace whose decomposition failed. Until it is ``given_up`` it is tried again at ``due_unix_ns``."""

    trace_id: str
    day: dt.date
    tries: int
    error: str
    received_unix_ns: int
    given_up: bool
    due_unix_ns: int


def read_depth(now_ns: int) -> Depth:
    with connection.cursor() as cursor:
        cursor.execute(DEPTH, {"now_ns": now_ns, "most": MAX_TRIES})
        claimed, due, retrying, set_aside, oldest_ns = cursor.fetchone()
    age_ns = max(0, now_ns - oldest_ns) if oldest_ns is not None and oldest_ns <= now_ns else None
    return Depth(claimed=claimed, due=due, retrying=retrying, set_aside=set_aside, oldest_age_ns=age_ns)


def find_set_aside(scope: Scope, now_ns: int, limit: int) -> list[SetAside]:
    """The project's traces that failed, newest first."""
    with connection.cursor() as cursor:
        cursor.execute(SET_ASIDE, {"project_id": scope.project_id, "now_ns": now_ns, "most": MAX_TRIES, "limit": limit})
        return [
            SetAside(
                trace_id=bytes(trace_id).hex(), day=day, tries=tries, error=error or DIED, received_unix_ns=received_ns,
                given_up=given_up, due_unix_ns=due_ns,
            )
            for trace_id, day, tries, error, received_ns, given_up, due_ns in cursor.fetchall()
        ]  # fmt: skip


def try_again(scope: Scope, now_ns: int, trace_id: bytes | None = None) -> int:
    """Give one failed trace, or all of the project, its tries back, and wake a worker; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            AGAIN, {"project_id": scope.project_id, "now_ns": now_ns, "most": MAX_TRIES, "trace_id": trace_id}
        )
        count = int(cursor.rowcount)
    if count:
        wake.publish()
    return count

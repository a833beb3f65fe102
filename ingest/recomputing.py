"""Stored traces marked to be decomposed again: after an upgrade, or for a new basis of estimates.

A mark is the one that receiving spans makes, so workers need to know nothing. Marks are written batch by batch, each
in a transaction of its own, and fall due one after another: what comes in meanwhile is due earlier.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from ingest.stages import ALGORITHM

BATCH = 500
SECOND_NS = 10**9

# By the end of runs, oldest first; {conditions} narrow it. Traces with several runs come several times.
WITH_RUNS = """
    SELECT run.end_unix_ns AS at, run.trace_id FROM ingest_run AS run
    WHERE run.project_id = %(project_id)s AND (run.end_unix_ns, run.trace_id) > (%(at)s, %(trace_id)s) {conditions}
    ORDER BY run.end_unix_ns, run.trace_id LIMIT %(limit)s
"""
# What made no run may make one now, or was set aside. It has no time of its own but the day of its receipt.
WITHOUT_RUNS = """
    SELECT 0 AS at, trace.trace_id FROM ingest_trace AS trace
    WHERE trace.project_id = %(project_id)s AND trace.trace_id > %(trace_id)s
      AND NOT EXISTS (SELECT 1 FROM ingest_run AS run WHERE run.trace_id = trace.trace_id
                      AND run.project_id = trace.project_id AND run.day = trace.day) {conditions}
    ORDER BY trace.trace_id LIMIT %(limit)s
"""
# The last receipt stays what it was, so that a settled run does not become provisional again.
MARK = """
    INSERT INTO ingest_dirty_trace AS dirty (trace_id, project_id, day, generation, received_unix_ns, due_unix_ns,
                                             claimed_until_unix_ns, tries, error)
    SELECT trace.trace_id, trace.project_id, trace.day, 1, last.received_unix_ns, %(due_ns)s, 0, 0, ''
    FROM ingest_trace AS trace CROSS JOIN LATERAL (
        SELECT max(chunk.received_unix_ns) AS received_unix_ns FROM ingest_chunk AS chunk
        WHERE chunk.trace_id = trace.trace_id AND chunk.project_id = trace.project_id AND chunk.day = trace.day
    ) AS last
    WHERE trace.project_id = %(project_id)s AND trace.trace_id = ANY(%(trace_ids)s)
      AND last.received_unix_ns IS NOT NULL
    ORDER BY trace.trace_id, trace.project_id
    ON CONFLICT (trace_id, project_id)
        DO UPDATE SET generation = dirty.generation + 1, tries = 0, error = '',
                      due_unix_ns = CASE WHEN dirty.error = '' THEN dirty.due_unix_ns ELSE excluded.due_unix_ns END
"""
# A worker that has read the old basis already may not write by it: it loses its lease, and so writes nothing.
BREAK_LEASE = """
    UPDATE ingest_dirty_trace SET claimed_until_unix_ns = 0
    WHERE project_id = %(project_id)s AND trace_id = ANY(%(trace_ids)s)
"""
# Empty, not NULL: the row as it stands has counted as one with estimates, and is taken back as such.
FORGET_BASIS = """
    UPDATE ingest_run SET basis = '[]'
    WHERE project_id = %(project_id)s AND trace_id = ANY(%(trace_ids)s) AND basis IS NOT NULL
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which traces: runs that ended in [from_ns, to_ns), of a service, older than this version; or one trace."""

    from_ns: int | None = None
    to_ns: int | None = None
    service: str | None = None
    outdated: bool = False
    trace_id: bytes | None = None

    @property
    def holds_traces_without_runs(self) -> bool:
        """Of a service or a version one cannot speak where there is no run."""
        return self.service is None and not self.outdated


def select_traces(selection: Selection, project_id: int, batch: int = BATCH) -> Iterator[list[bytes]]:
    """The project's traces that are selected, batch by batch; one of several runs may come more than once."""
    yield from _pages(WITH_RUNS, *_run_conditions(selection), project_id, batch)
    if selection.holds_traces_without_runs:
        yield from _pages(WITHOUT_RUNS, *_trace_conditions(selection), project_id, batch)


def mark(project_id: int, trace_ids: Sequence[bytes], due_ns: int, new_basis: bool) -> int:
    """Mark the traces to be decomposed again from ``due_ns`` on; returns how many were marked.

    A trace that is marked already keeps its time. With ``new_basis`` what its runs were estimated by is forgotten.
    """
    told = {"project_id": project_id, "trace_ids": list(trace_ids), "due_ns": due_ns}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(MARK, told)  # first the marks, then runs: the order in which workers lock them
        marked = int(cursor.rowcount)
        if new_basis:
            cursor.execute(BREAK_LEASE, told)
            cursor.execute(FORGET_BASIS, told)
        return marked


def _pages(sql: str, conditions: str, parameters: dict[str, Any], project_id: int, batch: int) -> Iterator[list[bytes]]:
    at, trace_id = -(2**63), b""
    while True:
        with connection.cursor() as cursor:
            known = parameters | {"project_id": project_id, "limit": batch, "at": at, "trace_id": trace_id}
            cursor.execute(sql.format(conditions=conditions), known)
            rows = [(at, bytes(trace_id)) for at, trace_id in cursor.fetchall()]
        if not rows:
            return
        yield list(dict.fromkeys(trace_id for _, trace_id in rows))
        at, trace_id = rows[-1]


def _run_conditions(selection: Selection) -> tuple[str, dict[str, Any]]:
    given = (
        ("run.end_unix_ns >= %(from_ns)s", "from_ns", selection.from_ns),
        ("run.end_unix_ns < %(to_ns)s", "to_ns", selection.to_ns),
        ("run.service = %(service)s", "service", selection.service),
        ("run.trace_id = %(only)s", "only", selection.trace_id),
        ("run.algorithm < %(algorithm)s", "algorithm",
         ALGORITHM if selection.outdated else None),
    )  # fmt: skip
    return _joined(given)


def _trace_conditions(selection: Selection) -> tuple[str, dict[str, Any]]:
    given = (
        ("trace.day >= %(from_day)s", "from_day", _day(selection.from_ns)),
        ("trace.day <= %(to_day)s", "to_day", _day(selection.to_ns)),
        ("trace.trace_id = %(only)s", "only", selection.trace_id),
    )
    return _joined(given)


def _joined(given: Sequence[tuple[str, str, Any]]) -> tuple[str, dict[str, Any]]:
    used = [(condition, name, value) for condition, name, value in given if value is not None]
    return "".join(f" AND {condition}" for condition, _, _ in used), {name: value for _, name, value in used}


def _day(unix_ns: int | None) -> dt.date | None:
    return None if unix_ns is None else dt.datetime.fromtimestamp(unix_ns // SECOND_NS, dt.UTC).date()

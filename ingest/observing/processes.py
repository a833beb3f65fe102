"""All processes together: who lives, and sums of counts that never go back.

A process that has ended, or was silent for FOLD_S, is added to one row and leaves. If it was only asleep it finds
its row gone and begins a new one with what it has counted since.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from psycopg.types.json import Jsonb

from ingest.models.observing import Process
from ingest.observing.reporter import FLUSH_S, NOW_NS
from ingest.observing.samples import added

FRESH_NS = int(3 * FLUSH_S * 1e9)
FOLD_NS = 120 * 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """A process as it last spoke of itself, ``silent_ns`` ago. Its ``recent`` counts are of its last
    ``recent_ns``; unknown is None."""

    id: str
    role: str
    host: str
    pid: int
    started_unix_ns: int
    uptime_ns: int
    silent_ns: int
    rss_bytes: int | None
    cpu_ns: int | None
    samples: dict[str, float]
    recent: dict[str, float]
    recent_ns: int

    @property
    def is_fresh(self) -> bool:
        return self.silent_ns < FRESH_NS

    def a_second(self, name_total: float) -> float | None:
        """``name_total`` of ``recent`` a second; unknown while it has hardly begun."""
        return name_total / (self.recent_ns / 1e9) if self.recent_ns > 10**9 else None


def read_processes() -> tuple[list[ProcessRow], dict[str, float]]:
    """Those that have not ended, by role, and the sum of all counts, those of ended processes included."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT id, ended, role, host, pid, started_unix_ns, greatest(0, seen_unix_ns - started_unix_ns),
                       greatest(0, {NOW_NS} - seen_unix_ns), rss_bytes, cpu_ns, samples, recent, recent_ns
                FROM ingest_process ORDER BY role, started_unix_ns, id"""
        )
        names = ("role", "host", "pid", "started_unix_ns", "uptime_ns", "silent_ns", "rss_bytes", "cpu_ns",
                 "samples", "recent", "recent_ns")  # fmt: skip
        rows = [(row[1], _row(row[0], dict(zip(names, row[2:], strict=True)))) for row in cursor.fetchall()]
    living = [row for ended, row in rows if not ended and row.id != Process.FOLDED]
    return living, added(row.samples for _, row in rows)


def _row(process_id: str, told: dict[str, Any]) -> ProcessRow:
    """Django leaves JSON of a bare cursor as text."""
    told |= {name: json.loads(told[name]) for name in ("samples", "recent")}
    return ProcessRow(id=process_id, **told)


def recent_of(processes: Sequence[ProcessRow]) -> dict[str, float]:
    """The last minute's counts of all that still speak."""
    return added(process.recent for process in processes if process.is_fresh)


def fold_ended() -> int:
    """Add the counts of ended and silent processes to the row that keeps them; returns how many left."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO ingest_process (id, role, host, pid, started_unix_ns, seen_unix_ns, ended, samples, recent,
                                            recent_ns)
                VALUES (%s, '', '', 0, 0, {NOW_NS}, true, '{{}}', '{{}}', 0) ON CONFLICT DO NOTHING""",
            [Process.FOLDED],
        )
        cursor.execute("SELECT samples FROM ingest_process WHERE id = %s FOR UPDATE", [Process.FOLDED])
        kept = json.loads(cursor.fetchone()[0])
        cursor.execute(
            f"""DELETE FROM ingest_process WHERE id <> %s AND (ended OR seen_unix_ns < {NOW_NS} - %s)
                RETURNING samples""",
            [Process.FOLDED, FOLD_NS],
        )
        gone = [json.loads(samples) for (samples,) in cursor.fetchall()]
        if gone:
            cursor.execute(
                f"UPDATE ingest_process SET samples = %s, seen_unix_ns = {NOW_NS} WHERE id = %s",
                [Jsonb(added([kept, *gone])), Process.FOLDED],
            )
    return len(gone)

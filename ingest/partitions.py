"""Day partitions: made ahead, dropped by retention. Days are those of receipt, so nobody can make them but us."""

from __future__ import annotations

import datetime as dt
import re

from django.db import connection, transaction

PARTITIONED = (
    "ingest_chunk", "ingest_body", "ingest_run", "ingest_call", "ingest_tool", "ingest_engine_span",
    "ingest_engine_sample", "ingest_engine_minute", "ingest_engine_failure",
)  # fmt: skip
AHEAD_DAYS = 2
# Chunks stay in their table up to half a page. Kept apart in pieces of 2 KB, as PostgreSQL does so that scans of narrow
# columns are quick, one of the benchmark's load costs it 20 us more (of 80) for the same bytes; nobody scans chunks.
WHOLE = {"ingest_chunk": "toast_tuple_target = 4080"}
_LOCK = 0x51_57_A6_01  # one maker at a time, whichever process it is


def today(now_ns: int) -> dt.date:
    return dt.datetime.fromtimestamp(now_ns / 1e9, dt.UTC).date()


def ensure_partitions(now_ns: int) -> list[str]:
    """Make what is missing of yesterday's to the day after tomorrow's partitions; returns the names made.

    Each is made apart and then attached, in a transaction of its own. `CREATE TABLE … PARTITION OF` would lock its
    parent against every reader and writer, and several parents at once are a deadlock with whoever writes to them.
    """
    days = [today(now_ns) + dt.timedelta(days=offset) for offset in range(-1, AHEAD_DAYS + 1)]
    wanted = {f"{table}_{day:%Y%m%d}": (table, day) for table in PARTITIONED for day in days}
    made = []
    for name in sorted(wanted.keys() - existing_partitions()):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
            if name in existing_partitions():
                continue  # another process was first
            table, day = wanted[name]
            after = day + dt.timedelta(days=1)
            cursor.execute(f"CREATE TABLE {name} (LIKE {table} INCLUDING ALL)")
            if table in WHOLE:
                cursor.execute(f"ALTER TABLE {name} SET ({WHOLE[table]})")
            cursor.execute(f"ALTER TABLE {table} ATTACH PARTITION {name} FOR VALUES FROM ('{day}') TO ('{after}')")
        made.append(name)
    return made


def existing_partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ANY(%s::regclass[])",
            [list(PARTITIONED)],
        )
        return {name for (name,) in cursor.fetchall()}


def drop_expired(now_ns: int, keep_days: int) -> list[str]:
    """Drop the partitions of days older than ``keep_days`` and forget their traces; returns the names dropped."""
    cutoff = today(now_ns) - dt.timedelta(days=keep_days)
    expired = sorted(name for name in existing_partitions() if (day := _day_of(name)) and day < cutoff)
    with connection.cursor() as cursor:
        for name in expired:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")
        if expired:  # rollups outlive their runs: from here on nobody can count them again
            cursor.execute(
                """INSERT INTO ingest_rollup_gone (id, day) VALUES (1, %s)
                   ON CONFLICT (id) DO UPDATE SET day = greatest(ingest_rollup_gone.day, excluded.day)""",
                [cutoff - dt.timedelta(days=1)],
            )
        cursor.execute("DELETE FROM ingest_dirty_trace WHERE day < %s", [cutoff])
        cursor.execute("DELETE FROM ingest_trace WHERE day < %s", [cutoff])
        cursor.execute("DELETE FROM ingest_projectday WHERE day < %s", [cutoff])
    return expired


def _day_of(partition: str) -> dt.date | None:
    found = re.search(r"_(\d{4})(\d\d)(\d\d)$", partition)
    return dt.date(int(found[1]), int(found[2]), int(found[3])) if found else None

"""What the store takes on disk, by table and by day, and what is left."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

SIZES = """
    SELECT coalesce(parent.relname, leaf.relname), leaf.relname, pg_total_relation_size(leaf.oid)
    FROM pg_class AS leaf
    LEFT JOIN pg_inherits AS inherits ON inherits.inhrelid = leaf.oid
    LEFT JOIN pg_class AS parent ON parent.oid = inherits.inhparent
    WHERE leaf.relkind = 'r' AND leaf.relnamespace = 'public'::regnamespace AND leaf.relname LIKE 'ingest\\_%'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Bytes with indexes and TOAST: of the whole database, of each table of telemetry, of each day of receipt."""

    database_bytes: int
    tables: dict[str, int]
    days: dict[str, int]


def read_space() -> Space:
    tables: dict[str, int] = {}
    days: dict[str, int] = {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (database_bytes,) = cursor.fetchone()
        cursor.execute(SIZES)
        for table, leaf, size in cursor.fetchall():
            name = table.removeprefix("ingest_")
            tables[name] = tables.get(name, 0) + size
            if found := re.search(r"_(\d{4})(\d\d)(\d\d)$", leaf):
                day = "-".join(found.groups())
                days[day] = days.get(day, 0) + size
    largest = dict(sorted(tables.items(), key=lambda item: -item[1]))
    return Space(database_bytes=database_bytes, tables=largest, days=dict(sorted(days.items(), reverse=True)))


def read_dictionaries(project_id: int) -> tuple[int, int | None]:
    """How many zstd dictionaries the project has, and when the newest was made; None where there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*), max(created_unix_ns) FROM ingest_dictionary WHERE project_id = %s", [project_id]
        )
        count, newest_ns = cursor.fetchone()
    return count, newest_ns


def disk_free(folder: Path) -> tuple[int, int] | None:
    """Free and all bytes of the disk that holds ``folder``; None where it does not exist here."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return usage.free, usage.total

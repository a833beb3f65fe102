"""The clock by which work is shared out: the database's, so that workers whose own clocks differ agree."""

from __future__ import annotations

from django.db import connection


def shared_now_ns() -> int:
    """Nanoseconds of Unix time, exact to the microsecond."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000")
        return int(cursor.fetchone()[0])

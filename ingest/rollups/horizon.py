"""How long which steps are kept: minutes for some weeks, hours and quarter-hours for a year, days for good.

What is dropped is told in ``ingest_rollup_gone`` in the same transaction, so that readers ask for nothing that is
half gone.
"""

from __future__ import annotations

import datetime as dt
from enum import IntEnum
from typing import Any

from django.db import transaction

from ingest.partitions import today
from ingest.rollups.steps import EVERYTHING, UTC_DAY_NS, Kept, Step
from ingest.stored import direct_cursor

EPOCH = dt.date(1970, 1, 1)


class Gone(IntEnum):
    """Rows of ``ingest_rollup_gone``: up to which UTC day something is kept no more."""

    RUNS = 1
    MINUTES = 2
    HOURS = 3


DROPPED = {Gone.MINUTES: (Step.MINUTE,), Gone.HOURS: (Step.QUARTER, Step.HOUR, Step.PLAIN_HOUR)}
TELL = """
    INSERT INTO ingest_rollup_gone (id, day) VALUES (%s, %s)
    ON CONFLICT (id) DO UPDATE SET day = greatest(ingest_rollup_gone.day, excluded.day)
"""


def gone_until(cursor: Any) -> dict[int, int]:
    """By number of ``Gone`` the first instant that is kept."""
    cursor.execute("SELECT id, day FROM ingest_rollup_gone")
    return {which: ((day - EPOCH).days + 1) * UTC_DAY_NS for which, day in cursor.fetchall()}


def kept_from(cursor: Any) -> Kept:
    gone = gone_until(cursor)
    return Kept(
        minutes_from_ns=gone.get(Gone.MINUTES, EVERYTHING.minutes_from_ns),
        hours_from_ns=gone.get(Gone.HOURS, EVERYTHING.hours_from_ns),
    )


def drop_steps(now_ns: int, minute_days: int, hour_days: int) -> int:
    """Drop the short steps of days that are older; returns how many rows. Days stay."""
    dropped = 0
    for which, days in ((Gone.MINUTES, minute_days), (Gone.HOURS, hour_days)):
        last = today(now_ns) - dt.timedelta(days=days + 1)
        with transaction.atomic(), direct_cursor() as cursor:
            cursor.execute(
                """DELETE FROM ingest_rollup USING ingest_project AS project
                   WHERE project_id = project.id AND step = ANY(%s::smallint[])
                     AND kind = ANY('{0,1,2}'::smallint[]) AND start_unix_ns < %s""",
                [list(map(int, DROPPED[which])), ((last - EPOCH).days + 1) * UTC_DAY_NS],
            )
            dropped += cursor.rowcount
            if cursor.rowcount:  # nothing is told gone that never was there: its rows answer as before
                cursor.execute(TELL, [int(which), last])
    return dropped

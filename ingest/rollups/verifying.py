"""Rollups held against the rows they were counted from, in one snapshot; and put right from there.

What is put right is written as a delta, the difference, so nobody has to stop meanwhile: what other workers count at
the same time adds to it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.rollups.applying import WRITE_DELTA
from ingest.rollups.counting import MINUTE_NS, Cell, Kind, Place, Tally
from ingest.rollups.folding import project_zones, quarter_start, zone_of
from ingest.rollups.from_rows import Cells, count_rows
from ingest.rollups.kept import Admission, read_kept, read_keys
from ingest.rollups.packing import pack_cells, unpack_cell
from ingest.rollups.steps import UTC_DAY_NS, Piece, Step, day_of
from ingest.snapshot import snapshot

DAYS = f"""
    SELECT DISTINCT end_unix_ns / {UTC_DAY_NS} FROM (
        SELECT end_unix_ns FROM ingest_run WHERE project_id = %(project_id)s
        UNION ALL SELECT end_unix_ns FROM ingest_call WHERE project_id = %(project_id)s
        UNION ALL SELECT end_unix_ns FROM ingest_tool WHERE project_id = %(project_id)s
        UNION ALL SELECT start_unix_ns FROM ingest_rollup WHERE project_id = %(project_id)s AND step = 0
        UNION ALL SELECT minute * {MINUTE_NS} FROM ingest_rollup_delta, LATERAL (VALUES (first_minute), (last_minute))
            AS ends (minute) WHERE project_id = %(project_id)s
    ) AS ended ORDER BY 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A step that is not what its rows (or, of longer steps, its minutes) add up to. ``kept`` and ``counted`` are
    how many items each says."""

    project_id: int
    step: Step
    kind: Kind
    start_unix_ns: int
    key: str
    kept: int
    counted: int

    def __str__(self) -> str:
        at = dt.datetime.fromtimestamp(self.start_unix_ns // 10**9, dt.UTC)
        return (
            f"project {self.project_id}, {self.step.name.lower()} {at:%Y-%m-%d %H:%M} UTC, {self.kind.name.lower()}s, "
            f"{self.key}: kept {self.kept}, counted {self.counted}"
        )


def verify(repair: bool = False) -> Iterator[Difference]:
    """What differs, project by project; with ``repair`` the minutes' differences are written as deltas, and the
    longer steps, which nothing but a fault of ours can part from their minutes, are summed anew."""
    with snapshot() as cursor:
        zones = project_zones(cursor)
        for project_id in sorted(zones):
            tally = Tally()
            for day in _days(cursor, project_id):
                yield from _minutes(cursor, project_id, day * UTC_DAY_NS, tally)
            yield from _longer_steps(cursor, project_id, zones[project_id])
            if repair:
                for delta in pack_cells(tally):
                    cursor.execute(WRITE_DELTA, list(delta))
                cursor.execute("DELETE FROM ingest_rollup_zone WHERE project_id = %s", [project_id])


def count_once() -> bool:
    """Count what was stored before there were rollups; whether that was to be done."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT EXISTS (SELECT 1 FROM ingest_run) AND NOT EXISTS (SELECT 1 FROM ingest_rollup_delta)
                      AND NOT EXISTS (SELECT 1 FROM ingest_rollup)"""
        )
        (due,) = cursor.fetchone()
    return bool(due) and sum(1 for _ in verify(repair=True)) > 0  # all of them, to the end: only then it writes


def _days(cursor: Any, project_id: int) -> list[int]:
    """UTC days with anything in them whose runs must all be there: after what retention has dropped, with a day's
    grace for clocks."""
    cursor.execute("SELECT day FROM ingest_rollup_gone")
    row = cursor.fetchone()
    cursor.execute(DAYS, {"project_id": project_id})
    days = [int(day) for (day,) in cursor.fetchall()]
    return days if row is None else [day for day in days if day > (row[0] - dt.date(1970, 1, 1)).days + 1]


def _minutes(cursor: Any, project_id: int, day_ns: int, wanted: Tally) -> Iterator[Difference]:
    """A UTC day's minutes; what is to be added to make them right goes into ``wanted``."""
    bounds = list(range(day_ns, day_ns + UTC_DAY_NS + 1, MINUTE_NS))
    kept = read_kept(cursor, project_id, [Piece(Step.MINUTE, day_ns, day_ns + UTC_DAY_NS)], bounds, list(Kind))
    admission = Admission(cursor, project_id, read_keys(cursor, project_id))
    counted: Cells = {}
    for kind in Kind:
        for (_, at, key), cell in count_rows(cursor, kind, bounds, "project_id = %s", [project_id]).items():
            admitted = admission.key(kind, bounds[at] // MINUTE_NS, key)
            place = (int(kind), at, admitted)
            if place in counted:
                counted[place].add(cell)
            else:
                counted[place] = cell
    for place in sorted({*kept, *counted}, key=repr):
        number, at, key = place
        was, is_ = kept.get(place) or Cell.of(number), counted.get(place) or Cell.of(number)
        numbers = was.count, is_.count
        is_.subtract(was)
        if is_.tidy():
            wanted.merge([(Place(project_id, number, bounds[at] // MINUTE_NS, key), is_)])
            yield Difference(
                project_id=project_id, step=Step.MINUTE, kind=Kind(number), start_unix_ns=bounds[at],
                key=repr(key), kept=numbers[0], counted=numbers[1],
            )  # fmt: skip


def _longer_steps(cursor: Any, project_id: int, zone: str) -> Iterator[Difference]:
    """Whether folded quarter-hours and days are what their folded minutes add up to."""
    cursor.execute("SELECT zone FROM ingest_rollup_zone WHERE project_id = %s", [project_id])
    (summed_by,) = cursor.fetchone() or (None,)
    by_slot: dict[tuple[int, int, int, int], tuple[Cell, Cell]] = {}
    cursor.execute(
        "SELECT step, kind, start_unix_ns, key_id, body FROM ingest_rollup WHERE project_id = %s", [project_id]
    )
    for step, kind, start_ns, key_id, body in cursor.fetchall():
        cell = unpack_cell(body)
        if step == Step.MINUTE:
            starts = {
                Step.QUARTER: quarter_start(start_ns),
                Step.DAY: day_of(start_ns, zone_of(summed_by or zone))[0],
            }
            for longer, at_ns in starts.items():
                _, minutes = by_slot.setdefault((longer, kind, at_ns, key_id), (Cell.of(kind), Cell.of(kind)))
                minutes.add(cell)
        else:
            whole, _ = by_slot.setdefault((step, kind, start_ns, key_id), (Cell.of(kind), Cell.of(kind)))
            whole.add(cell)
    for (step, kind, start_ns, key_id), (whole, minutes) in sorted(by_slot.items(), key=lambda pair: pair[0]):
        numbers = whole.count, minutes.count
        minutes.subtract(whole)
        if minutes.tidy():
            yield Difference(
                project_id=project_id, step=Step(step), kind=Kind(kind), start_unix_ns=start_ns,
                key=f"key {key_id}", kept=numbers[0], counted=numbers[1],
            )  # fmt: skip

"""Rollups held against the rows they were counted from, in one snapshot; and put right from there.

What is put right is written as a delta, the difference, so nobody has to stop meanwhile: what other workers count at
the same time adds to it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from ingest.rollups.applying import WRITE_DELTA
from ingest.rollups.counting import MINUTE_NS, Cell, Kind, Place, Tally
from ingest.rollups.folding import project_zones, starts, zone_of
from ingest.rollups.from_rows import Cells, count_rows
from ingest.rollups.horizon import Gone, gone_until, kept_from
from ingest.rollups.kept import Admission, read_kept, read_keys
from ingest.rollups.packing import pack_cells
from ingest.rollups.piles import merge_bodies
from ingest.rollups.steps import HOUR_NS, QUARTER_NS, UTC_DAY_NS, Piece, Step, day_of
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


FOLDED = """
    SELECT step, kind, start_unix_ns, key_id, body FROM ingest_rollup
    WHERE project_id = %s AND step = ANY(%s::smallint[]) AND kind = ANY('{0,1,2}'::smallint[])
      AND start_unix_ns >= %s AND start_unix_ns < %s
"""
MANY = 50_000  # runs, calls and tools that are counted at once
HOUR_STEPS, DAY_STEPS = (Step.QUARTER, Step.HOUR, Step.PLAIN_HOUR), (Step.DAY, Step.PLAIN_DAY)


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


def verify(repair: bool = False, days: int | None = None) -> Iterator[Difference]:
    """What differs, project by project; of the newest ``days`` UTC days, or all. With ``repair`` the differences to
    the rows are written as deltas, and the longer steps, which nothing but a fault of ours can part from their
    minutes, are summed anew."""
    with snapshot() as cursor:
        # The runs of an hour's calls are few: one by one they are found sooner than by reading all runs.
        cursor.execute("SET LOCAL enable_hashjoin TO off; SET LOCAL enable_mergejoin TO off")
        zones = project_zones(cursor)
        for project_id in sorted(zones):
            checked = _Checked(cursor, project_id, zones[project_id])
            found = _days(cursor, project_id)
            for day in found if days is None else found[-days:]:
                yield from checked.against_rows(day * UTC_DAY_NS)
                yield from checked.against_shorter(day * UTC_DAY_NS)
                for delta in pack_cells(checked.wanted) if repair else ():
                    cursor.execute(WRITE_DELTA, list(delta))
                checked.wanted = Tally()
            if repair:
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
    gone_ns = gone_until(cursor).get(Gone.RUNS)
    cursor.execute(DAYS, {"project_id": project_id})
    days = [int(day) for (day,) in cursor.fetchall()]
    return days if gone_ns is None else [day for day in days if day * UTC_DAY_NS > gone_ns]


class _Checked:
    """One project, day by day. ``wanted`` is what is to be added to make the day right."""

    def __init__(self, cursor: Any, project_id: int, zone: str) -> None:
        self.cursor, self.project_id = cursor, project_id
        self.keys = read_keys(cursor, project_id)
        self.numbers = {key: key_id for key_id, key in self.keys.items()}
        self.admission = Admission(cursor, project_id, self.keys)
        self.kept_from = kept_from(cursor)
        self.wanted = Tally()
        self.zone_days: set[int] = set()
        cursor.execute("SELECT zone FROM ingest_rollup_zone WHERE project_id = %s", [project_id])
        (summed_by,) = cursor.fetchone() or (None,)
        self.zone = summed_by or zone

    def _shortest(self, at_ns: int) -> tuple[Step, int] | None:
        """The shortest step that is kept of a day, and its length."""
        if at_ns < self.kept_from.hours_from_ns:
            return None
        return (Step.QUARTER, QUARTER_NS) if at_ns < self.kept_from.minutes_from_ns else (Step.MINUTE, MINUTE_NS)

    def against_rows(self, day_ns: int) -> Iterator[Difference]:
        """A UTC day's shortest steps."""
        shortest = self._shortest(day_ns)
        if shortest is None:
            return
        at_ns, slice_ns = day_ns, HOUR_NS
        while at_ns < day_ns + UTC_DAY_NS:
            items = yield from self._slice(*shortest, at_ns, at_ns + slice_ns)
            at_ns += slice_ns
            # Rows come as one for each bin of each key, so many runs at once take much memory.
            slice_ns = QUARTER_NS if items > MANY or at_ns % HOUR_NS else HOUR_NS

    def _slice(self, step: Step, length_ns: int, from_ns: int, to_ns: int) -> Generator[Difference, None, int]:
        """Some steps; how many runs, calls and tools ended in them."""
        bounds = list(range(from_ns, to_ns + 1, length_ns))
        kept = read_kept(self.cursor, self.project_id, [Piece(step, from_ns, to_ns)], bounds, list(Kind))
        counted: Cells = {}
        for kind in Kind:
            found = count_rows(self.cursor, kind, bounds, "project_id = %s", [self.project_id])
            for (_, at, key), cell in found.items():
                place = (int(kind), at, self.admission.key(kind, bounds[at] // MINUTE_NS, key))
                if place in counted:
                    counted[place].add(cell)
                else:
                    counted[place] = cell
        items = sum(cell.count for cell in counted.values())
        for place in sorted({*kept, *counted}, key=repr):
            number, at, key = place
            was, is_ = kept.get(place) or Cell.of(number), counted.get(place) or Cell.of(number)
            numbers = was.count, is_.count
            is_.subtract(was)
            if is_.tidy():
                minute = bounds[at] // MINUTE_NS
                self.wanted.merge([(Place(self.project_id, number, minute, key), is_)])
                yield self._difference(step, number, bounds[at], repr(key), numbers)
        return items

    def against_shorter(self, day_ns: int) -> Iterator[Difference]:
        """Whether a UTC day's folded quarter-hours and hours are what its shortest steps add up to, and whether the
        days of the project that touch it are what their quarter-hours do."""
        shortest = self._shortest(day_ns)
        if shortest is None:
            return
        step = shortest[0]
        yield from self._longer(step, tuple(one for one in HOUR_STEPS if one is not step), day_ns, day_ns + UTC_DAY_NS)
        at_ns = day_ns
        while at_ns < day_ns + UTC_DAY_NS:
            start_ns, at_ns = day_of(at_ns, zone_of(self.zone))
            if start_ns >= self.kept_from.hours_from_ns and start_ns not in self.zone_days:
                self.zone_days.add(start_ns)
                yield from self._longer(Step.QUARTER, DAY_STEPS, start_ns, at_ns)

    def _longer(self, shorter: Step, longer: tuple[Step, ...], from_ns: int, to_ns: int) -> Iterator[Difference]:
        kept: dict[tuple[int, int, int, int], list[bytes]] = {}
        summed: dict[tuple[int, int, int, int], list[bytes]] = {}
        self.cursor.execute(FOLDED, [self.project_id, [int(shorter), *map(int, longer)], from_ns, to_ns])
        for step, kind, start_ns, key_id, body in self.cursor.fetchall():
            if step != shorter:
                kept.setdefault((step, kind, start_ns, key_id), []).append(body)
                continue
            begins = starts(start_ns, self.zone)
            for one in longer:
                number = self.numbers.get(self.keys[key_id].as_plain(), -1) if one.is_plain else key_id
                summed.setdefault((one, kind, begins[one], number), []).append(body)
        for place in sorted({*kept, *summed}):
            step, kind, start_ns, key_id = place
            whole, parts = (
                merge_bodies(one[place]) if place in one else Cell.of(kind) for one in (kept, summed)
            )  # fmt: skip
            numbers = whole.count, parts.count
            parts.subtract(whole)
            if parts.tidy():
                yield self._difference(Step(step), kind, start_ns, f"key {key_id}", numbers)

    def _difference(self, step: Step, kind: int, start_ns: int, key: str, numbers: tuple[int, int]) -> Difference:
        return Difference(
            project_id=self.project_id, step=step, kind=Kind(kind), start_unix_ns=start_ns, key=key,
            kept=numbers[0], counted=numbers[1],
        )  # fmt: skip

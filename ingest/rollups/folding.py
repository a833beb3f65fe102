"""Deltas folded into minutes, quarter-hours, hours and the project's days, by one process at a time.

A delta is deleted in the transaction that adds it up, so each counts once whoever dies. Readers add what is folded
and what is not in one snapshot; how often this runs is a matter of their price, not of their answers.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from django.conf import settings
from django.db import transaction

from ingest.rollups.counting import MINUTE_NS, Cell, Key, Tally
from ingest.rollups.horizon import kept_from
from ingest.rollups.packing import count_deltas, pack_cell, pack_cells, unpack_cell
from ingest.rollups.piles import merge_bodies
from ingest.rollups.steps import HOUR_NS, QUARTER_NS, UTC_DAY_NS, Step, day_of
from ingest.stored import direct_cursor

DELTAS_AT_ONCE = 200
# Values that are counted together take ten times their bytes in memory. Cells are added one delta after another, and
# each slot is read and written once for all that are taken.
COUNTED_BYTES, FOLDED_BYTES = 4 << 20, 8 << 20
DAY_MINUTES = 1440
# Each longer step from the longest that is its part: few minutes are added several times.
SUMMED_FROM = (
    (Step.QUARTER, Step.HOUR), (Step.QUARTER, Step.DAY), (Step.HOUR, Step.PLAIN_HOUR), (Step.DAY, Step.PLAIN_DAY),
)  # fmt: skip
SUM_NS = UTC_DAY_NS  # of which longer steps are added up at once
_LOCK = 0x51_57_A6_05

TAKE = """
    WITH eldest AS (
        SELECT id, sum(size) OVER (ORDER BY id) - size AS bytes_before
        FROM (
            SELECT id, octet_length(body) AS size FROM ingest_rollup_delta WHERE NOT counted OR %s ORDER BY id LIMIT %s
        ) AS sized
    )
    DELETE FROM ingest_rollup_delta WHERE id IN (SELECT id FROM eldest WHERE bytes_before < %s)
    RETURNING id, project_id, body
"""
WRITE_COUNTED = """
    INSERT INTO ingest_rollup_delta (project_id, first_minute, last_minute, counted, body)
    VALUES (%s, %s, %s, true, %s)
"""
READ = """
    SELECT kept.project_id, kept.step, kept.kind, kept.start_unix_ns, kept.key_id, kept.body FROM ingest_rollup AS kept
    JOIN unnest(%s::int[], %s::smallint[], %s::smallint[], %s::bigint[], %s::int[])
        AS wanted (project_id, step, kind, start_unix_ns, key_id)
    USING (project_id, step, kind, start_unix_ns, key_id)
"""
WRITE = """
    INSERT INTO ingest_rollup (project_id, step, kind, start_unix_ns, key_id, body)
    SELECT * FROM unnest(%s::int[], %s::smallint[], %s::smallint[], %s::bigint[], %s::int[], %s::bytea[])
    ON CONFLICT (project_id, step, kind, start_unix_ns, key_id) DO UPDATE SET body = excluded.body
"""
DROP = """
    DELETE FROM ingest_rollup AS kept
    USING unnest(%s::int[], %s::smallint[], %s::smallint[], %s::bigint[], %s::int[])
        AS empty (project_id, step, kind, start_unix_ns, key_id)
    WHERE (kept.project_id, kept.step, kept.kind, kept.start_unix_ns, kept.key_id)
        = (empty.project_id, empty.step, empty.kind, empty.start_unix_ns, empty.key_id)
"""
NUMBER = """
    INSERT INTO ingest_rollup_key (project_id, digest, fields) VALUES (%s, %s, %s)
    ON CONFLICT (project_id, digest) DO UPDATE SET fields = excluded.fields RETURNING id
"""
FIND = "SELECT id FROM ingest_rollup_key WHERE (project_id, digest) = (%s, %s)"
ADMIT = """
    INSERT INTO ingest_rollup_admitted (project_id, day, kind, key_ids, "full") VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (project_id, day, kind) DO UPDATE SET key_ids = excluded.key_ids, "full" = excluded."full"
"""


class Slot(NamedTuple):
    """The primary key of a rollup's row."""

    project_id: int
    step: int
    kind: int
    start_unix_ns: int
    key_id: int


def fold(most: int = DELTAS_AT_ONCE, keys_most: int | None = None) -> int | None:
    """Fold the eldest deltas; returns how many, or None while another process is at it. ``keys_most`` is how many keys
    a UTC day of a project takes of a kind."""
    with transaction.atomic(), direct_cursor() as cursor:
        if not _is_alone(cursor):
            return None
        sum_anew(cursor)
        taken, tally = _take(cursor, most, counted_too=True)
        if taken:
            _add(cursor, _by_slot(cursor, tally, keys_most or settings.SIXSTAGE_ROLLUP_KEYS))
    return taken


def count_up(most: int = DELTAS_AT_ONCE) -> int | None:
    """Count the eldest deltas that are not yet, each project's into one, which is cheap to read and to fold later;
    returns how many, or None while another process is at it."""
    with transaction.atomic(), direct_cursor() as cursor:
        if not _is_alone(cursor):
            return None
        taken, tally = _take(cursor, most, counted_too=False)
        tally.tidy()
        for delta in pack_cells(tally):
            cursor.execute(WRITE_COUNTED, delta, prepare=True)
    return taken


def fold_all() -> int:
    """Fold until nothing is left, or another process is at it; returns how many deltas."""
    count_all()
    return _repeat(fold)


def count_all() -> int:
    """Count up until nothing is left uncounted, or another process is at it; returns how many deltas."""
    return _repeat(count_up)


def _repeat(step: Callable[[], int | None]) -> int:
    total = 0
    while done := step():
        total += done
    return total


def _is_alone(cursor: Any) -> bool:
    cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
    (alone,) = cursor.fetchone() or (False,)
    return bool(alone)


def _take(cursor: Any, most: int, counted_too: bool) -> tuple[int, Tally]:
    """Take the eldest deltas away, and count them."""
    cursor.execute(TAKE, [counted_too, most, FOLDED_BYTES if counted_too else COUNTED_BYTES], prepare=True)
    taken = sorted(cursor.fetchall())
    return len(taken), count_deltas((project_id, body) for _, project_id, body in taken)


def _by_slot(cursor: Any, tally: Tally, keys_most: int) -> dict[Slot, Cell]:
    """The cells at each step. What takes itself back within these deltas takes no key."""
    tally.tidy()
    zones = project_zones(cursor)
    numbers = _Numbers(cursor, keys_most)
    minutes_from_ns = kept_from(cursor).minutes_from_ns
    by_step: dict[Step, dict[Slot, Cell]] = {step: {} for step in Step}
    plain_ids: dict[tuple[int, int], int] = {}
    for (project_id, kind, minute, key), cell in tally.cells.items():
        key_id, plain_ids[project_id, key_id] = numbers.of(project_id, kind, minute // DAY_MINUTES, key)
        start_ns = minute * MINUTE_NS
        if start_ns >= minutes_from_ns:
            _into(by_step[Step.MINUTE], Slot(project_id, Step.MINUTE, kind, start_ns, key_id), cell)
        quarter_ns = start_ns // QUARTER_NS * QUARTER_NS
        _into(by_step[Step.QUARTER], Slot(project_id, Step.QUARTER, kind, quarter_ns, key_id), cell)
    for shorter, step in SUMMED_FROM:
        for (project_id, _, kind, start_ns, key_id), cell in by_step[shorter].items():
            at_ns = starts(start_ns, zones.get(project_id, "UTC"))[step]
            number = plain_ids[project_id, key_id] if step.is_plain else key_id
            _into(by_step[step], Slot(project_id, step, kind, at_ns, number), cell)
    numbers.keep()
    return {slot: cell for cells in by_step.values() for slot, cell in cells.items()}


def starts(minute_ns: int, zone: str) -> dict[Step, int]:
    """When the steps that hold a minute begin."""
    hour_ns, day_ns = minute_ns // HOUR_NS * HOUR_NS, _day_start(minute_ns, zone)
    return {
        Step.MINUTE: minute_ns, Step.QUARTER: minute_ns // QUARTER_NS * QUARTER_NS, Step.HOUR: hour_ns,
        Step.DAY: day_ns, Step.PLAIN_HOUR: hour_ns, Step.PLAIN_DAY: day_ns,
    }  # fmt: skip


def _into(slots: dict[Slot, Cell], slot: Slot, cell: Cell) -> None:
    if slot in slots:
        slots[slot].add(cell)
    else:
        slots[slot] = cell.copy()


def _add(cursor: Any, slots: dict[Slot, Cell]) -> None:
    if not slots:
        return
    order = sorted(slots)
    cursor.execute(READ, columns(order), prepare=True)
    for *place, body in cursor.fetchall():
        slots[Slot(*place)].add(unpack_cell(body))
    kept: list[Slot] = []
    empty: list[Slot] = []
    for slot in order:
        (kept if slots[slot].tidy() else empty).append(slot)
    if kept:
        cursor.execute(WRITE, [*columns(kept), [pack_cell(slots[slot]) for slot in kept]], prepare=True)
    if empty:
        cursor.execute(DROP, columns(empty))


def columns(slots: Iterable[Slot]) -> list[list[int]]:
    return [list(map(int, column)) for column in zip(*slots, strict=True)]


class _Numbers:
    """Keys' numbers. A UTC day of a kind admits keys first come until it is full, and is never full again after."""

    def __init__(self, cursor: Any, most: int) -> None:
        self.cursor, self.most = cursor, most
        self.ids: dict[tuple[int, Key], int] = {}
        self.days: dict[tuple[int, int, int], tuple[dict[int, None], bool]] = {}
        self.changed: set[tuple[int, int, int]] = set()

    def of(self, project_id: int, kind: int, day: int, key: Key) -> tuple[int, int]:
        """The number under which a key counts, and that of plain steps."""
        key = key if self._admits(project_id, kind, day, key) else key.as_other()
        return self._made(project_id, key), self._made(project_id, key.as_plain())

    def plain(self, project_id: int, key: Key) -> int:
        return self._made(project_id, key.as_plain())

    def _admits(self, project_id: int, kind: int, day: int, key: Key) -> bool:
        place = (project_id, day, kind)
        if key.is_other:
            return True
        if place not in self.days:
            self.cursor.execute(
                'SELECT key_ids, "full" FROM ingest_rollup_admitted WHERE (project_id, day, kind) = (%s, %s, %s)', place
            )
            ids, full = self.cursor.fetchone() or ((), False)
            self.days[place] = dict.fromkeys(ids), full
        admitted, full = self.days[place]
        if full:
            return self._found(project_id, key) in admitted
        key_id = self._made(project_id, key)
        if key_id not in admitted:
            self.changed.add(place)
            if len(admitted) >= self.most:
                self.days[place] = admitted, True
                return False
            admitted[key_id] = None
        return True

    def _made(self, project_id: int, key: Key) -> int:
        if (project_id, key) not in self.ids:
            fields, digest = _written(key)
            self.cursor.execute(NUMBER, (project_id, digest, fields))
            (self.ids[project_id, key],) = self.cursor.fetchone()
        return self.ids[project_id, key]

    def _found(self, project_id: int, key: Key) -> int | None:
        if (project_id, key) not in self.ids:
            _, digest = _written(key)
            self.cursor.execute(FIND, (project_id, digest))
            row = self.cursor.fetchone()
            if row is None:
                return None
            (self.ids[project_id, key],) = row
        return self.ids[project_id, key]

    def keep(self) -> None:
        for place in sorted(self.changed):
            admitted, full = self.days[place]
            self.cursor.execute(ADMIT, (*place, list(admitted), full))


as_key = msgspec.json.Decoder(Key).decode


def _written(key: Key) -> tuple[str, bytes]:
    fields = msgspec.json.encode(key).decode()
    return fields, hashlib.sha256(fields.encode()).digest()[:16]


def project_zones(cursor: Any) -> dict[int, str]:
    cursor.execute("SELECT id, zone FROM ingest_project")
    return dict(cursor.fetchall())


def zone_of(name: str) -> ZoneInfo:
    """A zone by its name; UTC for one that does not exist (any more)."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


@lru_cache(maxsize=4_096)
def _day_start(start_ns: int, zone: str) -> int:
    return day_of(start_ns, zone_of(zone))[0]


def sum_anew(cursor: Any) -> None:
    """Where a project's zone has changed, its days are other ones: add them up from quarter-hours, on which the days
    of all zones of today begin. Days of which these are kept no more stay days of the former zone."""
    cursor.execute(
        """SELECT project.id, project.zone, summed.zone FROM ingest_project AS project
           LEFT JOIN ingest_rollup_zone AS summed ON summed.project_id = project.id
           WHERE summed.zone IS DISTINCT FROM project.zone"""
    )
    for project_id, zone, former in cursor.fetchall():
        hours_from_ns, minutes_from_ns = kept_from(cursor).hours_from_ns, kept_from(cursor).minutes_from_ns
        if former is None:  # a repair, or an upgrade from a version that had no hours
            _drop(cursor, project_id, minutes_from_ns, Step.QUARTER)
            _sum(cursor, project_id, Step.MINUTE, (Step.QUARTER,), zone, minutes_from_ns)
            _drop(cursor, project_id, hours_from_ns, Step.HOUR, Step.PLAIN_HOUR)
            _sum(cursor, project_id, Step.QUARTER, (Step.HOUR, Step.PLAIN_HOUR), zone, hours_from_ns)
        from_ns = day_of(hours_from_ns - 1, zone_of(former or zone))[1] if hours_from_ns > 0 else hours_from_ns
        _drop(cursor, project_id, from_ns, Step.DAY, Step.PLAIN_DAY)
        _sum(cursor, project_id, Step.QUARTER, (Step.DAY, Step.PLAIN_DAY), zone, from_ns)
        cursor.execute(
            """INSERT INTO ingest_rollup_zone (project_id, zone) VALUES (%s, %s)
               ON CONFLICT (project_id) DO UPDATE SET zone = excluded.zone""",
            (project_id, zone),
        )


def _drop(cursor: Any, project_id: int, from_ns: int, *steps: Step) -> None:
    cursor.execute(
        "DELETE FROM ingest_rollup WHERE project_id = %s AND step = ANY(%s::smallint[]) AND start_unix_ns >= %s",
        (project_id, list(map(int, steps)), from_ns),
    )


def _sum(cursor: Any, project_id: int, of: Step, steps: tuple[Step, ...], zone: str, from_ns: int) -> None:
    """Longer steps from shorter ones; some at a time, as many as memory has room for."""
    cursor.execute("SELECT id, fields FROM ingest_rollup_key WHERE project_id = %s", (project_id,))
    keys = {key_id: as_key(fields) for key_id, fields in cursor.fetchall()}
    numbers = _Numbers(cursor, settings.SIXSTAGE_ROLLUP_KEYS)
    after_ns = from_ns
    while True:
        cursor.execute(
            """SELECT kind, start_unix_ns, key_id, body FROM ingest_rollup
               WHERE project_id = %s AND step = %s AND start_unix_ns >= %s AND start_unix_ns < (
                   SELECT min(start_unix_ns) + %s FROM ingest_rollup
                   WHERE project_id = %s AND step = %s AND start_unix_ns >= %s)""",
            (project_id, int(of), after_ns, SUM_NS, project_id, int(of), after_ns),
        )
        rows = cursor.fetchall()
        if not rows:
            return
        bodies: defaultdict[Slot, list[bytes]] = defaultdict(list)
        for kind, start_ns, key_id, body in rows:
            for step in steps:
                number = numbers.plain(project_id, keys[key_id]) if step.is_plain else key_id
                bodies[Slot(project_id, step, kind, starts(start_ns, zone)[step], number)].append(body)
        _add(cursor, {slot: merge_bodies(together) for slot, together in bodies.items()})
        after_ns = max(start_ns for _, start_ns, _, _ in rows) + 1

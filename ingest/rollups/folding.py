"""Deltas folded into minutes, quarter-hours and the project's days, by one process at a time.

A delta is deleted in the transaction that adds it up, so each counts once whoever dies. Readers add what is folded
and what is not in one snapshot; how often this runs is a matter of their price, not of their answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from django.db import transaction

from ingest.rollups.counting import MINUTE_NS, Cell, Key, Tally
from ingest.rollups.packing import count_deltas, pack_cell, unpack_cell
from ingest.rollups.steps import QUARTER_NS, Step, day_of
from ingest.stored import direct_cursor

KEYS_MOST = 500  # of a kind in a project and UTC day
DELTAS_AT_ONCE = 10  # those of some 2,000 traces: what is held at once must be small, and more would be little quicker
DAY_MINUTES = 1440
_LOCK = 0x51_57_A6_05

TAKE = """
    DELETE FROM ingest_rollup_delta
    WHERE id IN (SELECT id FROM ingest_rollup_delta ORDER BY id LIMIT %s FOR UPDATE)
    RETURNING id, project_id, body
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


def fold(most: int = DELTAS_AT_ONCE, keys_most: int = KEYS_MOST) -> int | None:
    """Fold the eldest deltas; returns how many, or None while another process is at it."""
    with transaction.atomic(), direct_cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        (mine,) = cursor.fetchone() or (False,)
        if not mine:
            return None
        sum_anew(cursor)
        cursor.execute(TAKE, [most], prepare=True)
        taken = sorted(cursor.fetchall())
        if not taken:
            return 0
        tally = count_deltas((project_id, body) for _, project_id, body in taken)
        _add(cursor, _by_slot(cursor, tally, keys_most))
    return len(taken)


def fold_all() -> int:
    """Fold until nothing is left, or another process is at it; returns how many deltas."""
    total = 0
    while folded := fold():
        total += folded
    return total


def _by_slot(cursor: Any, tally: Tally, keys_most: int) -> dict[Slot, Cell]:
    """The cells at each of the three steps. What takes itself back within these deltas takes no key."""
    tally.tidy()
    zones = project_zones(cursor)
    numbers = _Numbers(cursor, keys_most)
    slots: dict[Slot, Cell] = {}
    for (project_id, kind, minute, key), cell in tally.cells.items():
        key_id = numbers.of(project_id, kind, minute // DAY_MINUTES, key)
        start_ns = minute * MINUTE_NS
        day_ns = _day_start(start_ns, zones.get(project_id, "UTC"))
        _into(slots, Slot(project_id, Step.MINUTE, kind, start_ns, key_id), cell)
        _into(slots, Slot(project_id, Step.QUARTER, kind, quarter_start(start_ns), key_id), cell)
        _into(slots, Slot(project_id, Step.DAY, kind, day_ns, key_id), cell)
    numbers.keep()
    return slots


def quarter_start(unix_ns: int) -> int:
    return unix_ns // QUARTER_NS * QUARTER_NS


def _into(slots: dict[Slot, Cell], slot: Slot, cell: Cell) -> None:
    if slot not in slots:
        slots[slot] = Cell.of(slot.kind)
    slots[slot].add(cell)


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

    def of(self, project_id: int, kind: int, day: int, key: Key) -> int:
        if key.is_other:
            return self._made(project_id, key)
        place = (project_id, day, kind)
        if place not in self.days:
            self.cursor.execute(
                'SELECT key_ids, "full" FROM ingest_rollup_admitted WHERE (project_id, day, kind) = (%s, %s, %s)', place
            )
            ids, full = self.cursor.fetchone() or ((), False)
            self.days[place] = dict.fromkeys(ids), full
        admitted, full = self.days[place]
        if full:
            key_id = self._found(project_id, key)
            return key_id if key_id in admitted and key_id is not None else self._made(project_id, key.as_other())
        key_id = self._made(project_id, key)
        if key_id not in admitted:
            self.changed.add(place)
            if len(admitted) >= self.most:
                self.days[place] = admitted, True
                return self._made(project_id, key.as_other())
            admitted[key_id] = None
        return key_id

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
    """Where a project's zone has changed, its days are other ones: add longer steps up from their minutes."""
    cursor.execute(
        """SELECT project.id, project.zone FROM ingest_project AS project
           LEFT JOIN ingest_rollup_zone AS summed ON summed.project_id = project.id
           WHERE summed.zone IS DISTINCT FROM project.zone"""
    )
    for project_id, zone in cursor.fetchall():
        cursor.execute("DELETE FROM ingest_rollup WHERE project_id = %s AND step <> %s", (project_id, int(Step.MINUTE)))
        cursor.execute(
            "SELECT kind, start_unix_ns, key_id, body FROM ingest_rollup WHERE project_id = %s ORDER BY start_unix_ns",
            (project_id,),
        )
        slots: dict[Slot, Cell] = {}
        for kind, start_ns, key_id, body in cursor.fetchall():
            _into(slots, Slot(project_id, Step.QUARTER, kind, quarter_start(start_ns), key_id), unpack_cell(body))
            _into(slots, Slot(project_id, Step.DAY, kind, _day_start(start_ns, zone), key_id), unpack_cell(body))
        _add(cursor, slots)
        cursor.execute(
            """INSERT INTO ingest_rollup_zone (project_id, zone) VALUES (%s, %s)
               ON CONFLICT (project_id) DO UPDATE SET zone = excluded.zone""",
            (project_id, zone),
        )

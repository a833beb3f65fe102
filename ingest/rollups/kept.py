"""What is counted already: folded rows and deltas that wait, read in the caller's snapshot."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from ingest.rollups.counting import MINUTE_NS, Cell, Key
from ingest.rollups.folding import DAY_MINUTES
from ingest.rollups.from_rows import Cells
from ingest.rollups.packing import count_deltas, unpack_cell
from ingest.rollups.steps import Piece, step_index

ROWS = """
    SELECT kind, start_unix_ns, key_id, body FROM ingest_rollup
    WHERE project_id = %(project_id)s AND step = %(step)s AND kind = ANY(%(kinds)s::smallint[])
      AND start_unix_ns >= %(from_ns)s AND start_unix_ns < %(to_ns)s
"""
WAITING = """
    SELECT body FROM ingest_rollup_delta
    WHERE project_id = %(project_id)s AND last_minute >= %(first)s AND first_minute < %(last)s ORDER BY id
"""
_key = msgspec.json.Decoder(Key).decode


def read_kept(
    cursor: Any, project_id: int, pieces: Sequence[Piece], bounds: Sequence[int], kinds: Collection[int]
) -> Cells:
    """Cells of these pieces, which are of whole steps, by the step between ``bounds`` in which they begin."""
    cells: Cells = {}
    keys = read_keys(cursor, project_id)
    for step, from_ns, to_ns in pieces:
        assert step is not None
        cursor.execute(
            ROWS,
            {"project_id": project_id, "step": int(step), "kinds": list(map(int, kinds)), "from_ns": from_ns,
             "to_ns": to_ns},
        )  # fmt: skip
        for kind, start_ns, key_id, body in cursor.fetchall():
            _add(cells, kind, step_index(bounds, start_ns), keys[key_id], unpack_cell(body))
    if not pieces:
        return cells
    first, last = min(piece.from_ns for piece in pieces) // MINUTE_NS, max(piece.to_ns for piece in pieces) // MINUTE_NS
    cursor.execute(WAITING, {"project_id": project_id, "first": first, "last": last})
    waiting = cursor.fetchall()
    if waiting:
        admission = Admission(cursor, project_id, keys)
        for place, cell in count_deltas((project_id, body) for (body,) in waiting).cells.items():
            at_ns = place.minute * MINUTE_NS
            if place.kind in kinds and any(piece.from_ns <= at_ns < piece.to_ns for piece in pieces):
                key = admission.key(place.kind, place.minute, place.key)
                _add(cells, place.kind, step_index(bounds, at_ns), key, cell)
    return cells


def _add(cells: Cells, kind: int, step: int, key: Key, cell: Cell) -> None:
    place = (kind, step, key)
    if place in cells:
        cells[place].add(cell)
    else:
        cells[place] = cell


def read_keys(cursor: Any, project_id: int) -> dict[int, Key]:
    cursor.execute("SELECT id, fields FROM ingest_rollup_key WHERE project_id = %s", [project_id])
    return {key_id: _key(fields) for key_id, fields in cursor.fetchall()}


class Admission:
    """Under which key something of a day counts: its own, or ``other`` where the day is full without it."""

    def __init__(self, cursor: Any, project_id: int, keys: dict[int, Key]) -> None:
        cursor.execute(
            'SELECT day, kind, key_ids FROM ingest_rollup_admitted WHERE project_id = %s AND "full"', [project_id]
        )
        self.full = {(day, kind): {keys[key_id] for key_id in ids} for day, kind, ids in cursor.fetchall()}

    def key(self, kind: int, minute: int, key: Key) -> Key:
        admitted = self.full.get((minute // DAY_MINUTES, kind))
        return key if admitted is None or key in admitted else key.as_other()

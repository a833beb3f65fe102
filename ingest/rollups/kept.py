"""What is counted already: folded rows and deltas that wait, read in the caller's snapshot."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from ingest.rollups.counting import MINUTE_NS, Key
from ingest.rollups.folding import DAY_MINUTES, as_key
from ingest.rollups.from_rows import Cells
from ingest.rollups.packing import PackedCell, read_deltas
from ingest.rollups.piles import Part, Pile, Stored
from ingest.rollups.steps import Piece, step_index
from ingest.stored import direct_cursor

# Each piece is a range of the primary key; all in one question, which costs less than each alone.
ROWS = """
    SELECT found.* FROM unnest(%(steps)s::smallint[], %(from_ns)s::bigint[], %(to_ns)s::bigint[])
        AS piece (step, from_ns, to_ns) CROSS JOIN LATERAL (
            SELECT start_unix_ns, key_id, body FROM ingest_rollup AS kept
            WHERE project_id = %(project_id)s AND kept.step = piece.step AND kind = %(kind)s
              AND start_unix_ns >= piece.from_ns AND start_unix_ns < piece.to_ns {keys} OFFSET 0
        ) AS found
"""
ANY_KEY, OF_KEYS = ROWS.format(keys=""), ROWS.format(keys="AND key_id = ANY(%(key_ids)s::int[])")
WAITING = """
    SELECT body FROM ingest_rollup_delta
    WHERE project_id = %(project_id)s AND last_minute >= %(first)s AND first_minute < %(last)s ORDER BY id
"""
FEW_KEYS = 200  # so many are named to the database
P = TypeVar("P", bound=Hashable)
_known: dict[int, dict[int, Key]] = {}


def read_kept(
    cursor: Any, project_id: int, pieces: Sequence[Piece], bounds: Sequence[int], kinds: Collection[int]
) -> Cells:
    """Cells of these pieces, which are of whole steps, by the step between ``bounds`` in which they begin."""
    waiting = Waiting(cursor, project_id, pieces)
    cells: Cells = {}
    for kind in map(int, kinds):
        for (at, key), pile in read_placed(cursor, project_id, pieces, bounds, kind, lambda k: (k,), waiting).items():
            cells[kind, at, key] = pile.as_cell()
    return cells


class Waiting:
    """Deltas of these pieces that are not folded yet. Beside a flood of old data they are hundreds of thousands of
    minutes' cells, so they stay packed until all that belong together are merged at once."""

    def __init__(self, cursor: Any, project_id: int, pieces: Sequence[Piece]) -> None:
        # By kind: begin of the minute, key, cell
        self.packed: defaultdict[int, list[tuple[int, Key, PackedCell]]] = defaultdict(list)
        if not pieces:
            return
        first, last = min(piece.from_ns for piece in pieces), max(piece.to_ns for piece in pieces)
        cursor.execute(WAITING, {"project_id": project_id, "first": first // MINUTE_NS, "last": -(-last // MINUTE_NS)})
        bodies = cursor.fetchall()
        if not bodies:
            return
        admission = Admission(cursor, project_id, read_keys(cursor, project_id))
        for kind, minute, key, packed in read_deltas(body for (body,) in bodies):
            self.packed[kind].append((minute * MINUTE_NS, admission.key(kind, minute, key), packed))

    def parts(
        self, kind: int, pieces: Sequence[Piece], bounds: Sequence[int], places: Callable[[Key], Collection[P]]
    ) -> Iterator[tuple[int, tuple[P, ...], Part]]:
        """What counts of a kind within the pieces: the step between ``bounds`` in which it begins, its key's places."""
        ordered = sorted((piece.from_ns, piece.to_ns) for piece in pieces)
        starts = [from_ns for from_ns, _ in ordered]
        placed: dict[Key, tuple[P, ...]] = {}

        def is_wanted(start_ns: int, key: Key) -> bool:
            if key not in placed:
                placed[key] = tuple(places(key))
            at = bisect_right(starts, start_ns) - 1
            return bool(placed[key]) and at >= 0 and start_ns < ordered[at][1]

        together: defaultdict[tuple[int, tuple[P, ...]], list[PackedCell]] = defaultdict(list)
        for start_ns, key, packed in self.packed[kind]:
            if is_wanted(start_ns, key):
                together[step_index(bounds, start_ns), placed[key]].append(packed)
        for (at, found), cells in together.items():
            yield at, found, Stored(packed=cells)


def read_placed(
    cursor: Any, project_id: int, pieces: Sequence[Piece], bounds: Sequence[int], kind: int,
    places: Callable[[Key], Collection[P]], waiting: Waiting, *, narrowed: bool = False,
) -> dict[tuple[int, P], Pile]:  # fmt: skip
    """Cells of a kind by the step between ``bounds`` and by each of the places that ``places`` tells of their key; what
    it has no place for is left where it is. Keys of the same places are added up once for all of these. ``narrowed``:
    most keys have no place, so the database is told which have."""
    keys = read_keys(cursor, project_id)
    placed: dict[int, tuple[P, ...]] = {}
    if narrowed:
        placed = {key_id: found for key_id, key in keys.items() if (found := tuple(places(key)))}
    wanted: dict[str, Any] = {
        "project_id": project_id, "kind": kind, "steps": [int(piece.step or 0) for piece in pieces],
        "from_ns": [piece.from_ns for piece in pieces], "to_ns": [piece.to_ns for piece in pieces],
    }  # fmt: skip
    few = narrowed and len(placed) <= FEW_KEYS
    together: defaultdict[tuple[int, tuple[P, ...]], list[bytes]] = defaultdict(list)
    with direct_cursor() as direct:
        if few:
            wanted["key_ids"] = list(placed)
        direct.execute(OF_KEYS if few else ANY_KEY, wanted, binary=True, prepare=True)
        for start_ns, key_id, body in direct.fetchall():
            if not narrowed and key_id not in placed:
                placed[key_id] = tuple(places(keys[key_id]))
            if placed.get(key_id):
                together[step_index(bounds, start_ns), placed[key_id]].append(body)
    piles: dict[tuple[int, P], Pile] = {}
    stored = ((at, found, Stored(bodies)) for (at, found), bodies in together.items())
    for at, found, part in chain(stored, waiting.parts(kind, pieces, bounds, places)):
        for place in found:
            if (at, place) in piles:
                piles[at, place].add(part)
            else:
                piles[at, place] = Pile(part)
    same: dict[tuple[int, ...], Pile] = {}  # a service and its only agent, say: added up once
    return {place: same.setdefault(pile.identity, pile) for place, pile in piles.items()}


def read_keys(cursor: Any, project_id: int) -> dict[int, Key]:
    """All keys of a project. They never change, and their numbers rise in the order in which they become visible,
    since one process folds at a time: only new ones are read."""
    known = _known.setdefault(project_id, {})
    cursor.execute(
        "SELECT id, fields FROM ingest_rollup_key WHERE project_id = %s AND id > %s",
        [project_id, max(known, default=0)],
    )
    known.update((key_id, as_key(fields)) for key_id, fields in sorted(cursor.fetchall()))
    return dict(known)


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

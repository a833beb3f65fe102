"""Cells and deltas as bytes. What a pass of a worker has gathered is packed as it is, not counted: whoever folds many
deltas bins their values together, which costs a third."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from ingest.rollups.counting import Cell, Gathered, Item, Key, Place, Tally

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode
PackedCell = tuple[list[int | str], list[dict[int, int]], dict[str, int]]
_decode_cell = msgspec.msgpack.Decoder(PackedCell).decode
# (sign, kind, minute, key, items), and cells that were counted already: (kind, minute, key, cell).
PackedGroup = tuple[int, int, int, Key, list[tuple[Any, ...]]]
_decode_delta = msgspec.msgpack.Decoder(tuple[list[PackedGroup], list[tuple[int, int, Key, PackedCell]]]).decode
_FITS = 2**63


def _plain(cell: Cell) -> PackedCell:
    """Sums beyond 64 bits, which only absurd times make, are written as text."""
    return [s if -_FITS <= s < _FITS else str(s) for s in cell.sums], cell.bins, cell.errors


def _as_cell(packed: PackedCell) -> Cell:
    sums, bins, errors = packed
    return Cell([int(s) for s in sums], bins, errors)


def pack_cell(cell: Cell) -> bytes:
    return _encode(_plain(cell))


def unpack_cell(body: bytes) -> Cell:
    return _as_cell(_decode_cell(body))


class Delta(NamedTuple):
    """What one pass adds to a project, as its row keeps it; minutes are whole ones since 1970."""

    project_id: int
    first_minute: int
    last_minute: int
    body: bytes


def pack_gathered(gathered: Gathered) -> list[Delta]:
    """One delta a project."""
    by_project: dict[int, list[tuple[Any, ...]]] = {}
    for (project_id, sign, kind, minute, *key), items in gathered.groups.items():
        by_project.setdefault(project_id, []).append((sign, kind, minute, key, items))
    return [
        Delta(project_id, min(map(itemgetter(2), told)), max(map(itemgetter(2), told)), _encode((told, ())))
        for project_id, told in by_project.items()
    ]


def pack_cells(tally: Tally) -> list[Delta]:
    """Cells as deltas, one a project."""
    by_project: dict[int, list[tuple[int, int, Key, PackedCell]]] = {}
    for (project_id, kind, minute, key), cell in tally.cells.items():
        by_project.setdefault(project_id, []).append((kind, minute, key, _plain(cell)))
    return [
        Delta(project_id, min(map(itemgetter(1), told)), max(map(itemgetter(1), told)), _encode(((), told)))
        for project_id, told in by_project.items()
    ]


def count_deltas(deltas: Iterable[tuple[int, bytes]]) -> Tally:
    """The cells of (project, body)s, in the order in which their keys first come."""
    tally = Tally()
    groups: defaultdict[tuple[int, Place], list[Item]] = defaultdict(list)
    for project_id, body in deltas:
        gathered, cells = _decode_delta(body)
        for sign, kind, minute, key, items in gathered:
            groups[sign, Place(project_id, kind, minute, key)] += items
        tally.merge((Place(project_id, kind, minute, key), _as_cell(packed)) for kind, minute, key, packed in cells)
    for (sign, place), together in groups.items():
        tally.count(place, together, sign)
    return tally

"""Cells and deltas as bytes. What a pass of a worker has gathered is packed as it is, not counted: whoever folds many
deltas bins their values together, which costs a third. Where bins lie close together, as in long steps, their counts
are packed side by side, 32 bits each: such a row of counts is one large integer to Python, and adding two of them adds
all their bins at once, forty times as quick as one by one."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, compress, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from ingest.rollups.counting import Cell, Gathered, Item, Key, Place, Tally

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.decode
_Groups = defaultdict[tuple[int, Place], list[Item]]  # by sign and place
WaitingCell = tuple[int, int, Key, "PackedCell"]  # its kind, minute and key
SideBySide = tuple[int, int, bytes]  # the first bin, how many are counted in all, and the counts from there on
PackedBins = dict[int, int] | SideBySide


class PackedCell(msgspec.Struct, array_like=True, gc=False):
    """A cell as it is stored. Bins that hold little are listed in ``ones``, each as often as it counts, as
    metric * ONES + bin + 1; ``bins`` are the other metrics' by their number (formerly: a list of all)."""

    sums: list[int | str]
    bins: dict[int, PackedBins] | list[PackedBins]
    errors: dict[str, int]
    ones: list[int] = []


unpack_plain = msgspec.msgpack.Decoder(PackedCell).decode
# (sign, kind, minute, key, items), and cells that were counted already: (kind, minute, key, cell).
PackedGroup = tuple[int, int, int, Key, list[tuple[Any, ...]]]
_decode_delta = msgspec.msgpack.Decoder(tuple[list[PackedGroup], list[tuple[int, int, Key, PackedCell]]]).decode
_FITS = 2**63


LANE_BITS = 32
CLOSE_FROM, CLOSE_WITHIN = 8, 4  # bins; and so many times their number is the room they may take
READ_AGAIN_BYTES = 128 << 10
ONES, OFTEN = 4_096, 2  # beyond the last bin; and how often bins may count on average to be listed


def _plain(cell: Cell) -> PackedCell:
    """In the order of bins, so that equal cells are equal bytes. Sums beyond 64 bits, which only absurd times make,
    are written as text."""
    ones: list[int] = []
    packed: dict[int, PackedBins] = {}
    for metric, bins in enumerate(cell.bins):
        if len(bins) >= CLOSE_FROM and not isinstance(close := side_by_side(bins), dict):
            packed[metric] = close
        elif bins:
            counts = bins.values()
            if sum(counts) <= OFTEN * len(bins) and min(counts) > 0:
                at = metric * ONES + 1
                ones += chain.from_iterable([repeat(at + index, count) for index, count in sorted(bins.items())])
            else:
                packed[metric] = dict(sorted(bins.items()))
    sums = [s if -_FITS <= s < _FITS else str(s) for s in cell.sums]
    return PackedCell(sums, packed, dict(sorted(cell.errors.items())), ones)


def side_by_side(bins: dict[int, int]) -> PackedBins:
    first, last = min(bins), max(bins)
    total = sum(bins.values())
    if last - first >= CLOSE_WITHIN * len(bins) or min(bins.values()) < 0 or total >= 1 << LANE_BITS:
        return bins
    return first, total, _bytes_of(array("I", map(bins.get, range(first, last + 1), repeat(0))))


def _bytes_of(counts: array[int]) -> bytes:
    if sys.byteorder == "big":
        counts.byteswap()
    return counts.tobytes()


def one_by_one(first: int, lanes: bytes) -> dict[int, int]:
    counts = array("I", lanes)
    if sys.byteorder == "big":
        counts.byteswap()
    return dict(zip(compress(range(first, first + len(counts)), counts), filter(None, counts), strict=True))


def _as_bins(packed: PackedBins) -> dict[int, int]:
    return packed if isinstance(packed, dict) else one_by_one(packed[0], packed[2])


def _as_cell(packed: PackedCell) -> Cell:
    bins: list[dict[int, int]] = [{} for _ in packed.sums]
    for metric, one in numbered(packed):
        bins[metric] = _as_bins(one)
    for code in packed.ones:
        into, index = bins[code // ONES], code % ONES - 1
        into[index] = into.get(index, 0) + 1
    return Cell([int(s) for s in packed.sums], bins, packed.errors)


def numbered(packed: PackedCell) -> Iterable[tuple[int, PackedBins]]:
    return packed.bins.items() if isinstance(packed.bins, dict) else enumerate(packed.bins)


class GlancedCell(msgspec.Struct, array_like=True, gc=False):
    """The same of which few metrics are looked at: their bins are decoded when they are."""

    sums: list[int | str]
    bins: dict[int, msgspec.Raw] | list[msgspec.Raw]
    errors: dict[str, int]
    ones: list[int] = []


glance = msgspec.msgpack.Decoder(GlancedCell).decode
decode_bins = msgspec.msgpack.Decoder(PackedBins).decode


def bins_of(cell: PackedCell | GlancedCell, metric: int) -> PackedBins | None:
    """Without those that are listed one by one; None where there are no others."""
    told = cell.bins.get(metric) if isinstance(cell.bins, dict) else cell.bins[metric]
    return decode_bins(told) if isinstance(told, msgspec.Raw) else told


def top_bin(body: bytes, metric: int) -> int | None:
    """The highest bin of a metric that a stored cell counts something in; None without any."""
    cell = glance(body)
    bins = bins_of(cell, metric) or {}
    tops = list(bins) if isinstance(bins, dict) else [bins[0] + len(bins[2]) * 8 // LANE_BITS - 1]
    base = metric * ONES + 1
    tops += [code - base for code in cell.ones if base <= code < base + ONES]
    return max(tops, default=None)


def pack_cell(cell: Cell) -> bytes:
    return _encode(_plain(cell))


def unpack_cell(body: bytes) -> Cell:
    return _as_cell(unpack_plain(body))


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
    groups, counted = _unpack(deltas)
    tally = Tally()
    tally.merge((place, _as_cell(packed)) for place, packed in counted)
    return _counted(groups, tally)


def read_deltas(bodies: Iterable[bytes]) -> Iterator[WaitingCell]:
    """The cells of deltas of a project as they are stored, to be added up together (``piles``)."""
    for body in bodies:
        yield from (_read_again if len(body) <= READ_AGAIN_BYTES else _read_delta)(body)


def _read_delta(body: bytes) -> list[WaitingCell]:
    groups, counted = _unpack([(0, body)])
    counted += [(place, _plain(cell)) for place, cell in _counted(groups, Tally()).cells.items()]
    return [(place.kind, place.minute, place.key, packed) for place, packed in counted]


# Live asks every second, and a delta waits some ten of them until it is counted with others.
_read_again = lru_cache(maxsize=64)(_read_delta)


def _counted(groups: _Groups, tally: Tally) -> Tally:
    for (sign, place), together in groups.items():
        tally.count(place, together, sign)
    return tally


def _unpack(deltas: Iterable[tuple[int, bytes]]) -> tuple[_Groups, list[tuple[Place, PackedCell]]]:
    groups: _Groups = defaultdict(list)
    counted: list[tuple[Place, PackedCell]] = []
    for project_id, body in deltas:
        gathered, cells = _decode_delta(body)
        for sign, kind, minute, key, items in gathered:
            groups[sign, Place(project_id, kind, minute, key)] += items
        counted += [(Place(project_id, kind, minute, key), packed) for kind, minute, key, packed in cells]
    return groups, counted

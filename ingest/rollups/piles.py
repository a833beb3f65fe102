"""Cells that count together, added up when a figure asks for them, metric by metric.

Most questions are for a few of a cell's metrics, and a comparison counts the same cells under several names. So a pile
keeps what lies on it as it was stored, decodes it once, and adds a metric's bins up when somebody wants them; what was
added up is kept, for the piles that lie on this one too. Counts stay side by side in large integers until the end.

Nothing is laid on a pile that lies on another already: that one may have looked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Protocol

from ingest.rollups.counting import Cell, add_bins
from ingest.rollups.packing import (
    CLOSE_FROM,
    LANE_BITS,
    ONES,
    GlancedCell,
    PackedBins,
    PackedCell,
    bins_of,
    glance,
    one_by_one,
    side_by_side,
)


class Close(NamedTuple):
    """Counts of neighbouring bins from the first on, ``LANE_BITS`` each, in one integer; ``total`` is their sum."""

    first: int
    total: int
    lanes: int


class Column(NamedTuple):
    """The bins of one metric."""

    apart: dict[int, int]
    close: Close | None = None

    def as_bins(self) -> dict[int, int]:
        """In no order."""
        if self.close is None:
            return dict(self.apart)
        bins = _as_bins(self.close)
        if self.apart:
            add_bins(bins, self.apart)
        return bins


class Part(Protocol):
    """What can lie on a pile."""

    @property
    def sums(self) -> Sequence[int]: ...
    @property
    def errors(self) -> Mapping[str, int]: ...
    def known(self, metric: int) -> int: ...
    def column(self, metric: int) -> Column: ...


class Stored:
    """Stored cells of one key or of keys that nobody tells apart: as their bytes until somebody asks."""

    def __init__(self, bodies: Iterable[bytes] = (), packed: Iterable[PackedCell] = ()) -> None:
        self._bodies, self._given = bodies, packed
        self._columns: dict[int, Column] = {}
        self._known: dict[int, int] = {}
        self._bins: dict[int, list[PackedBins]] = {}  # by metric, without those that are listed one by one

    @cached_property
    def _packed(self) -> list[PackedCell | GlancedCell]:
        return [*self._given, *map(glance, self._bodies)]

    @cached_property
    def sums(self) -> list[int]:
        columns = list(zip(*[one.sums for one in self._packed], strict=True))
        try:
            return list(map(sum, columns))
        except TypeError:  # some are beyond 64 bits, and text
            return [sum(map(int, column)) for column in columns]

    @cached_property
    def errors(self) -> dict[str, int]:
        return _all_errors(one.errors for one in self._packed)

    def _bins_of(self, metric: int) -> list[PackedBins]:
        if metric not in self._bins:
            told = [bins_of(one, metric) for one in self._packed]
            self._bins[metric] = [bins for bins in told if bins]
        return self._bins[metric]

    @cached_property
    def _listed(self) -> tuple[list[int], list[int]]:
        """What is listed one by one: metric and bin as one number, ascending, and how often."""
        codes = Counter(chain.from_iterable([one.ones for one in self._packed]))
        ordered = sorted(codes)
        return ordered, list(map(codes.__getitem__, ordered))

    def _listed_of(self, metric: int) -> dict[int, int]:
        codes, counts = self._listed
        first, last = bisect_left(codes, metric * ONES), bisect_left(codes, (metric + 1) * ONES)
        base = metric * ONES + 1
        return dict(zip([code - base for code in codes[first:last]], counts[first:last], strict=True))

    def known(self, metric: int) -> int:
        if metric not in self._known:
            told = [sum(bins.values()) if isinstance(bins, dict) else bins[1] for bins in self._bins_of(metric)]
            self._known[metric] = sum(told) + sum(self._listed_of(metric).values())
        return self._known[metric]

    def column(self, metric: int) -> Column:
        if metric not in self._columns:
            told, listed = self._bins_of(metric), self._listed_of(metric)
            apart = [bins for bins in told if isinstance(bins, dict)]
            close = [Close(b[0], b[1], int.from_bytes(b[2], "little")) for b in told if not isinstance(b, dict)]
            self._columns[metric] = _together([*apart, listed] if listed else apart, close)
        return self._columns[metric]


class Pile:
    """Parts of one kind, at least one."""

    def __init__(self, *parts: Part) -> None:
        self._parts = list(parts)
        self._columns: dict[int, Column] = {}
        self._sums: Sequence[int] | None = None

    @property
    def identity(self) -> tuple[int, ...]:
        """Piles with the same parts tell the same."""
        return tuple(map(id, self._parts))

    def add(self, part: Part) -> None:
        assert not self._columns, "a pile that was looked at takes no more"
        self._sums = None
        self._parts.append(part)

    @property
    def sums(self) -> Sequence[int]:
        if self._sums is None:
            self._sums = list(map(sum, zip(*[part.sums for part in self._parts], strict=True)))
        return self._sums

    @property
    def errors(self) -> Mapping[str, int]:
        return _all_errors(part.errors for part in self._parts)

    @property
    def count(self) -> int:
        """How many items: each has a wall time."""
        return self.known(0)

    def sum(self, metric: int) -> int:
        return self.sums[metric]

    def known(self, metric: int) -> int:
        """How many items have a value."""
        return sum([part.known(metric) for part in self._parts])

    def column(self, metric: int) -> Column:
        if len(self._parts) == 1:
            return self._parts[0].column(metric)
        if metric not in self._columns:
            self._columns[metric] = _added(part.column(metric) for part in self._parts)
        return self._columns[metric]

    def as_cell(self) -> Cell:
        return as_cell(self)


class Counted:
    """A cell that is no stored one."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    @property
    def sums(self) -> Sequence[int]:
        return self.cell.sums

    @property
    def errors(self) -> Mapping[str, int]:
        return self.cell.errors

    def known(self, metric: int) -> int:
        return sum(self.cell.bins[metric].values())

    def column(self, metric: int) -> Column:
        return Column(self.cell.bins[metric])


def merge_bodies(bodies: Iterable[bytes]) -> Cell:
    """One cell of many stored ones of one kind."""
    return as_cell(Stored(bodies))


def as_cell(part: Part) -> Cell:
    sums = list(part.sums)
    return Cell(sums, [part.column(metric).as_bins() for metric in range(len(sums))], dict(part.errors))


def add_columns(columns: Iterable[Column]) -> dict[int, int]:
    """The bins of several, together."""
    return _added(columns).as_bins()


def _added(columns: Iterable[Column]) -> Column:
    told = list(columns)
    return _together([one.apart for one in told if one.apart], [one.close for one in told if one.close])


def _together(apart: list[dict[int, int]], close: list[Close]) -> Column:
    if len(apart) > 1:
        into: dict[int, int] = {}
        for bins in apart:
            add_bins(into, bins)
        apart = [into]
    if apart and len(apart[0]) >= CLOSE_FROM and isinstance(packed := side_by_side(apart[0]), tuple):
        apart, close = [], [*close, Close(packed[0], packed[1], int.from_bytes(packed[2], "little"))]
    if len(close) < 2:
        return Column(apart[0] if apart else {}, close[0] if close else None)
    total = sum(one.total for one in close)
    if total >= 1 << LANE_BITS:  # a lane might run over
        into = dict(apart[0]) if apart else {}
        for one in close:
            add_bins(into, _as_bins(one))
        return Column(into)
    first = min(one.first for one in close)
    lanes = sum([one.lanes << LANE_BITS * (one.first - first) for one in close])
    return Column(apart[0] if apart else {}, Close(first, total, lanes))


def _as_bins(close: Close) -> dict[int, int]:
    return one_by_one(close.first, close.lanes.to_bytes((close.lanes.bit_length() + 31) // 32 * 4, "little"))


def _all_errors(told: Iterable[Mapping[str, int]]) -> dict[str, int]:
    errors: dict[str, int] = {}
    for one in told:
        if one:
            add_bins(errors, one)
    return errors

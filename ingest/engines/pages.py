"""A page of metrics → its layout and its numbers, or the reason why it is none.

The first time that a page's series are seen they are mapped; as long as they stay the same a page costs a lookup and a
float for each line that is kept.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Callable, Sequence
from enum import StrEnum
from operator import itemgetter

from ingest.engines.exposition import HEADS, Head, NotExposition, lines, number, samples
from ingest.engines.kinds import Kind, kind_of
from ingest.engines.layout import Layout, make_layout
from ingest.engines.mapping import keys, mapped
from ingest.engines.names import METRICS
from ingest.frozen import Frozen

MOST_SLOTS = 5_000
SHAPES_KEPT = 500


class Reason(StrEnum):
    """Why a scrape gave no sample. Stored, shown, and to be alerted on."""

    REFUSED_ADDRESS = "refused_address"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    STATUS = "status"
    REDIRECT = "redirect"
    TOO_LARGE = "too_large"
    BROKEN_OFF = "broken_off"
    NOT_METRICS = "not_metrics"
    NO_KNOWN_METRICS = "no_known_metrics"
    DUPLICATED_SERIES = "duplicated_series"
    TOO_MANY_SERIES = "too_many_series"
    TLS = "tls"
    ERROR = "error"


class BadPage(ValueError):
    """The page is not what a scrape wants. ``reason`` is for programs, the text for people."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason


class Reading(Frozen, frozen=True, kw_only=True):
    layout: Layout
    values: array[float]


class _Put(Frozen, frozen=True, kw_only=True):
    """Where the n-th kept line's value goes, and how it joins what is there already."""

    at: int
    scale: float
    together: str


class Shape:
    """The series of a page, mapped: from line heads to places in the array."""

    def __init__(self, kind: Kind, heads: Sequence[tuple[bytes, Head]]) -> None:
        found, constants, bounds = mapped(kind, heads)
        self.layout = make_layout(kind.value, [(key, sorted(bounds.get(key, ()))) for key in keys(found, constants)])
        places = {slot.key: slot for slot in self.layout.slots}
        self.index: dict[bytes, int] = {head: -1 for head, _ in heads}
        self.puts: list[list[_Put]] = []
        for head, targets in found.items():
            self.index[head] = len(self.puts)
            puts = []
            for key, suffix, bound, scale in targets:
                slot = places[key]
                at = slot.at
                if suffix == "_sum":
                    at += len(slot.bounds)
                elif suffix == "_count":
                    at, scale = at + len(slot.bounds) + 1, 1.0
                elif suffix == "_bucket":
                    at, scale = at + slot.bounds.index(bound), 1.0
                puts.append(_Put(at=at, scale=scale, together=METRICS[key.metric].together))
            self.puts.append(puts)
        self.constants = [(places[key].at, value) for key, value in constants.items()]
        self.order = self._order()

    def read(self, page: bytes) -> array[float] | None:
        """The page's numbers; None where its series are not this shape's. Raises BadPage."""
        raw: list[bytes] = [b""] * len(self.puts)
        index, seen = self.index, 0
        for line in page.split(b"\n"):
            head, _, value = line.rpartition(b" ")
            at = index.get(head)
            if at is None:
                if not line or line[0] == 35:
                    continue
                return None
            if at < 0:
                continue
            if raw[at]:
                raise _duplicated(head)
            raw[at] = value
            seen += 1
        return self.joined(_numbers(raw)) if seen == len(raw) and b"" not in raw else None

    def _order(self) -> Callable[[Sequence[float]], tuple[float, ...]] | None:
        """How the kept lines' values, and then the constants, become the array; None where one is more than taken over:
        several that are added up, or in another unit."""
        places = [(put.at, number, put.scale) for number, puts in enumerate(self.puts) for put in puts]
        places += [(at, len(self.puts) + number, 1.0) for number, (at, _) in enumerate(self.constants)]
        width = self.layout.width
        if width < 2 or sorted(at for at, _, _ in places) != list(range(width)) or any(s != 1.0 for _, _, s in places):
            return None
        return itemgetter(*(number for _, number, _ in sorted(places)))

    def joined(self, raw: Sequence[float]) -> array[float]:
        """The array of a page's kept values, in the order of its lines."""
        if self.order is not None:
            return array("d", self.order([*raw, *(value for _, value in self.constants)]))
        values = array("d", [math.nan]) * self.layout.width
        for value, puts in zip(raw, self.puts, strict=True):
            for put in puts:
                had = values[put.at]
                told = value * put.scale if put.scale != 1.0 else value
                if had != had:
                    values[put.at] = told
                elif put.together == "max":
                    values[put.at] = max(had, told) if told == told else had
                else:
                    values[put.at] = had + told
        for at, value in self.constants:
            values[at] = value
        return values


class Shapes:
    """Those that were seen, by kind and kept heads; all targets share them, and each remembers its last."""

    def __init__(self) -> None:
        self.known: dict[bytes, Shape] = {}
        self.last: dict[object, Shape] = {}

    def read(self, page: bytes, kind: Kind, target: object = None) -> Reading:
        """Raises BadPage."""
        if not page.endswith(b"\n"):
            raise BadPage(Reason.BROKEN_OFF, "the page ends in the middle of a line")
        try:
            shape = self.last.get(target)
            values = shape.read(page) if shape is not None else None
            if shape is None or values is None:
                shape = self._shape_of(page, kind)
                values = shape.read(page)
                if values is None:  # time stamps: lines that no lookup finds
                    values = self._slowly(page, shape)
                self._remember(target, shape)
        except NotExposition as error:
            raise BadPage(Reason.NOT_METRICS, f"the page is no Prometheus text: {error}") from None
        return Reading(layout=shape.layout, values=values)

    def _slowly(self, page: bytes, shape: Shape) -> array[float]:
        plain = [head + b" " + value for head, value in lines(page)]
        values = shape.read(b"\n".join(plain))
        if values is None:
            raise BadPage(Reason.NOT_METRICS, "the page's series cannot be read twice in the same way")
        return values

    def _shape_of(self, page: bytes, kind: Kind) -> Shape:
        heads = [(head, HEADS.read(head)) for head, _ in lines(page)]
        chosen = kind
        if kind is Kind.AUTO:
            found = kind_of({head.name for _, head in heads})
            if found is None:
                raise BadPage(Reason.NO_KNOWN_METRICS, _unknown(heads))
            chosen = found
        shape = Shape(chosen, heads)
        if not [slot for slot in shape.layout.slots if slot.key.metric != "process_start"]:
            raise BadPage(Reason.NO_KNOWN_METRICS, _unknown(heads))
        if len(shape.layout.slots) > MOST_SLOTS:
            raise BadPage(Reason.TOO_MANY_SERIES, f"more than {MOST_SLOTS} series are known of one page")
        digest = hashlib.blake2b(repr((chosen, [h for h, at in shape.index.items() if at >= 0])).encode()).digest()
        known = self.known.get(digest)
        if known is None:
            if len(self.known) >= SHAPES_KEPT:
                self.known.clear()
            known = self.known[digest] = shape
        elif len(known.index) + len(heads) < 100_000:
            for head, _ in heads:  # others of its lines may have come since
                known.index.setdefault(head, -1)
        else:
            known = self.known[digest] = shape
        return known

    def _remember(self, target: object, shape: Shape) -> None:
        if len(self.last) > 20 * SHAPES_KEPT:
            self.last.clear()
        self.last[target] = shape


SHAPES = Shapes()


def read_page(page: bytes, kind: Kind = Kind.AUTO, target: object = None) -> Reading:
    """The page's layout and numbers. ``target`` is whose page it is, to remember its shape. Raises BadPage."""
    return SHAPES.read(page, kind, target)


def read_samples(kind: Kind, told: Sequence[tuple[Head, float]]) -> Reading | None:
    """The same from samples that came by another way; None where none of them is known."""
    lined = [(repr(head).encode(), head, value) for head, value in told]
    shape = Shape(kind, [(line, head) for line, head, _ in lined])
    raw = [math.nan] * len(shape.puts)
    for line, _, value in lined:
        if (at := shape.index[line]) >= 0 and math.isfinite(value):
            raw[at] = value
    return Reading(layout=shape.layout, values=shape.joined(raw)) if shape.layout.slots else None


def _numbers(raw: Sequence[bytes]) -> list[float]:
    """All at once; what is no finite number is not known. Raises NotExposition."""
    if b"_" in b"".join(raw):  # Python would take it for a number
        raise NotExposition("no number: one with an underscore")
    try:
        values = list(map(float, raw))
    except ValueError:
        values = [number(value) for value in raw]  # which says of which
    if math.inf in values or -math.inf in values:
        values = [value if math.isfinite(value) else math.nan for value in values]
    return values


def _unknown(heads: Sequence[tuple[bytes, Head]]) -> str:
    names = sorted({head.name for _, head in heads})
    if not names:
        return "the page holds no samples"
    return f"none of the page's {len(names)} names is known of an engine; it begins with {names[0][:80]}"


def _duplicated(head: bytes) -> BadPage:
    return BadPage(Reason.DUPLICATED_SERIES, f"a series stands twice: {head[:120].decode(errors='replace')}")


__all__ = ["BadPage", "Reading", "Reason", "read_page", "read_samples", "samples"]

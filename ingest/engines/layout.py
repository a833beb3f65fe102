"""Where each figure of a scrape stands in its row: one array of numbers, a histogram as one stretch of it.

    [running | waiting | ttft ≤0.1 … ttft ≤+Inf, sum, count | …]

Targets that run the same engine have the same layout, and it changes when a server is started with other flags, so it
is kept once, by its digest.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ingest.engines.names import METRICS, Metric, Type
from ingest.frozen import Frozen


class Key(NamedTuple):
    """What a series is of. ``model`` is None where the page names none, ``engine`` a core of a data-parallel server."""

    metric: str
    model: str | None = None
    engine: str | None = None
    part: str | None = None

    @property
    def sort_key(self) -> tuple[str, ...]:
        return tuple(word or "" for word in self)


class Slot(Frozen, frozen=True, kw_only=True):
    """``bounds`` are a histogram's upper bounds, in our unit, +Inf the last; none where a page left its buckets out."""

    key: Key
    at: int
    bounds: tuple[float, ...] = ()

    @property
    def metric(self) -> Metric:
        return METRICS[self.key.metric]

    @property
    def width(self) -> int:
        return len(self.bounds) + 2 if self.metric.type is Type.HISTOGRAM else 1


class Layout(Frozen, frozen=True, kw_only=True):
    kind: str
    slots: tuple[Slot, ...]
    digest: bytes

    @property
    def width(self) -> int:
        return self.slots[-1].at + self.slots[-1].width if self.slots else 0

    @property
    def models(self) -> list[str]:
        return sorted({slot.key.model for slot in self.slots if slot.key.model is not None})

    def slots_of(self, metric: str) -> list[Slot]:
        return [slot for slot in self.slots if slot.key.metric == metric]

    def as_json(self) -> str:
        return _as_json(self.kind, [(slot.key, slot.bounds) for slot in self.slots])


def make_layout(kind: str, wanted: Iterable[tuple[Key, Sequence[float]]]) -> Layout:
    """The layout of these series, in an order that does not depend on the page's."""
    ordered = sorted(wanted, key=lambda pair: pair[0].sort_key)
    slots, at = [], 0
    for key, bounds in ordered:
        slot = Slot(key=key, at=at, bounds=tuple(bounds))
        slots.append(slot)
        at += slot.width
    text = _as_json(kind, ordered)
    return Layout(kind=kind, slots=tuple(slots), digest=hashlib.blake2b(text.encode(), digest_size=16).digest())


def layout_from_json(text: str) -> Layout:
    """What ``as_json`` wrote. Metrics that this version does not know any more keep their place and are nobody's."""
    told = json.loads(text)
    return make_layout(told["kind"], [(Key(*words), [_bound(b) for b in bounds]) for words, bounds in told["slots"]])


def _as_json(kind: str, ordered: Sequence[tuple[Key, Sequence[float]]]) -> str:
    slots: list[Any] = [[list(key), ["+Inf" if math.isinf(b) else b for b in bounds]] for key, bounds in ordered]
    return json.dumps({"kind": kind, "slots": slots}, separators=(",", ":"))


def _bound(bound: float | str) -> float:
    return float(bound)

"""What is kept, and what a place to keep it must do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Vector = Sequence[float]


@dataclass(frozen=True)
class Entry:
    """An answer. ``key`` is the digest of the normalised question; times are Unix ns."""

    key: str
    question: str
    answer: str
    vector: Vector
    made_ns: int
    until_ns: int


class Store(Protocol):
    """Entries by space: a space is one user of one tenant (or all of a tenant) at one version. What has expired may
    be dropped, and the oldest beyond the store's capacity."""

    async def put(self, space: str, entry: Entry) -> None: ...

    async def exact(self, space: str, key: str) -> Entry | None: ...

    async def nearest(self, space: str, vector: Vector, now_ns: int) -> tuple[Entry, float] | None:
        """The most similar entry that has not expired, and its cosine similarity."""

    async def drop(self, space: str, key: str | None = None) -> int:
        """One entry, or the whole space; how many went."""


def closest(entries: Sequence[Entry], vector: Vector, now_ns: int) -> tuple[Entry, float] | None:
    """Vectors have length 1, so the product is the cosine."""
    best: tuple[Entry, float] | None = None
    for entry in entries:
        if entry.until_ns > now_ns and len(entry.vector) == len(vector):
            likeness = sum(map(float.__mul__, entry.vector, vector))
            if best is None or likeness > best[1]:
                best = entry, likeness
    return best

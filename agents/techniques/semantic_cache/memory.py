"""Entries in this process, bounded: the least recently used of a space go first."""

from __future__ import annotations

from collections import OrderedDict

from agents.techniques.semantic_cache.entries import Entry, Vector, closest


class MemoryStore:
    def __init__(self, per_space: int = 500, spaces: int = 10_000) -> None:
        """500 entries of 256 numbers are searched in some 5 ms."""
        self._per_space, self._most = per_space, spaces
        self._spaces: OrderedDict[str, OrderedDict[str, Entry]] = OrderedDict()

    async def put(self, space: str, entry: Entry) -> None:
        entries = self._spaces.setdefault(space, OrderedDict())
        self._spaces.move_to_end(space)
        entries[entry.key] = entry
        entries.move_to_end(entry.key)
        while len(entries) > self._per_space:
            entries.popitem(last=False)
        while len(self._spaces) > self._most:
            self._spaces.popitem(last=False)

    async def exact(self, space: str, key: str) -> Entry | None:
        entries = self._spaces.get(space)
        if not entries or key not in entries:
            return None
        entries.move_to_end(key)
        return entries[key]

    async def nearest(self, space: str, vector: Vector, now_ns: int) -> tuple[Entry, float] | None:
        return closest(list(self._spaces.get(space, {}).values()), vector, now_ns)

    async def drop(self, space: str, key: str | None = None) -> int:
        if key is None:
            return len(self._spaces.pop(space, ()))
        entries = self._spaces.get(space)
        return int(entries is not None and entries.pop(key, None) is not None)

"""Entries in Valkey or Redis, shared between processes: one hash for each space, which expires by itself.

Plain commands, no search module: a space is read whole and compared here, so it is kept small.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, Protocol, cast

from agents.techniques.semantic_cache.entries import Entry, Vector, closest


class Client(Protocol):
    """What is used of ``redis.asyncio.Redis``: pass one; this package imports no driver."""

    def hset(self, name: str, key: str, value: str) -> Any: ...
    def hget(self, name: str, key: str) -> Any: ...
    def hgetall(self, name: str) -> Any: ...
    def hdel(self, name: str, *keys: str) -> Any: ...
    def hlen(self, name: str) -> Any: ...
    def delete(self, *names: str) -> Any: ...
    def pexpireat(self, name: str, when: int) -> Any: ...


class ValkeyStore:
    def __init__(self, client: Client, *, prefix: str = "semantic-cache:", per_space: int = 500) -> None:
        self._client, self._prefix, self._per_space = client, prefix, per_space

    async def put(self, space: str, entry: Entry) -> None:
        name = self._prefix + space
        await _done(self._client.hset(name, entry.key, _text(entry)))
        await _done(self._client.pexpireat(name, entry.until_ns // 1_000_000 + 1))  # what is newest lives longest
        if await _done(self._client.hlen(name)) > self._per_space:
            entries = sorted(await self._all(space), key=lambda each: each.made_ns)
            await _done(self._client.hdel(name, *(each.key for each in entries[: -self._per_space])))

    async def exact(self, space: str, key: str) -> Entry | None:
        text = await _done(self._client.hget(self._prefix + space, key))
        return _entry(text) if text is not None else None

    async def nearest(self, space: str, vector: Vector, now_ns: int) -> tuple[Entry, float] | None:
        return closest(await self._all(space), vector, now_ns)

    async def drop(self, space: str, key: str | None = None) -> int:
        name = self._prefix + space
        if key is not None:
            return int(await _done(self._client.hdel(name, key)))
        held = int(await _done(self._client.hlen(name)))
        await _done(self._client.delete(name))
        return held

    async def _all(self, space: str) -> list[Entry]:
        return [_entry(text) for text in (await _done(self._client.hgetall(self._prefix + space))).values()]


async def _done(reply: Any) -> Any:
    return await cast(Awaitable[Any], reply)


def _text(entry: Entry) -> str:
    vector = [round(number, 6) for number in entry.vector]
    return json.dumps([entry.key, entry.question, entry.answer, vector, entry.made_ns, entry.until_ns])


def _entry(text: str | bytes) -> Entry:
    return Entry(*json.loads(text))

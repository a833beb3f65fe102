"""The semantic cache on a real Valkey."""

import os
import time
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from agents.techniques.semantic_cache import Scope, SemanticCache, ValkeyStore


@pytest.fixture
async def valkey() -> AsyncIterator[Redis]:
    client = Redis.from_url(os.environ["SIXSTAGE_REDIS_URL"])
    yield client
    await client.delete(*([*await client.keys("test-cache:*")] or ["test-cache:none"]))
    await client.aclose()


async def test_two_processes_share_answers_within_a_user(valkey: Redis) -> None:
    one, two = (SemanticCache(store=ValkeyStore(valkey, prefix="test-cache:"), threshold=0.8) for _ in range(2))
    ann, bob = Scope("acme", "ann"), Scope("acme", "bob")
    await one.keep(ann, "Where is order 7 now?", "On its way.")

    exact, similar = await two.find(ann, "where is order 7 now?"), await two.find(ann, "Where is order 7 now then?")

    assert exact is not None
    assert (exact.kind, exact.answer) == ("exact", "On its way.")
    assert similar is not None
    assert similar.kind == "similar"
    assert await two.find(bob, "Where is order 7 now?") is None
    assert await two.forget(ann) == 1
    assert await one.find(ann, "Where is order 7 now?") is None


async def test_what_has_expired_is_neither_found_nor_kept(valkey: Redis) -> None:
    now = time.time_ns()
    cache = SemanticCache(store=ValkeyStore(valkey, prefix="test-cache:"), now_ns=lambda: now)
    await cache.keep(Scope("acme"), "Hours?", "9 to 5", ttl_s=3600)
    (name,) = await valkey.keys("test-cache:*")

    assert 0 < await valkey.pttl(name) <= 3_600_001
    now += 3_601 * 1_000_000_000
    assert await cache.find(Scope("acme"), "Hours?") is None


async def test_a_space_is_bounded_oldest_first(valkey: Redis) -> None:
    now = time.time_ns()
    cache = SemanticCache(store=ValkeyStore(valkey, prefix="test-cache:", per_space=2), now_ns=lambda: now)
    for question in ("one", "two", "three"):
        now += 1
        await cache.keep(Scope("acme"), question, question)

    assert [bool(await cache.find(Scope("acme"), each)) for each in ("one", "two", "three")] == [False, True, True]

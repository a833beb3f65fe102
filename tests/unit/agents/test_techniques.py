"""The techniques in the cases that they are for."""

from __future__ import annotations

import asyncio

import pytest

from agents.techniques.bounded_tools import BoundedTools, Breaker, Job, Status
from agents.techniques.inference_pool import BATCH, INTERACTIVE, InferencePool, pool_size
from agents.techniques.semantic_cache import HashedWords, MemoryStore, Scope, SemanticCache, SentenceModel
from tests.virtual_time import now_ns, run

ANN = Scope("acme", "ann")


def test_the_pool_is_as_large_as_the_reports_say() -> None:
    assert pool_size(80, 70, 1.2) == 8
    assert pool_size(80, 70, 0.3) == 33
    assert pool_size(80, 70, 0.3, shared_gb=0.9) == 30
    assert pool_size(80, 70, 0.1) == 100
    with pytest.raises(ValueError, match="no request of"):
        pool_size(80, 79.5, 1.2)


def test_who_is_in_a_hurry_goes_first() -> None:
    async def three() -> list[str]:
        pool, order = InferencePool(1, now_ns=now_ns), []

        async def one(name: str, priority: int) -> None:
            async with pool.slot(priority=priority):
                order.append(name)
                await asyncio.sleep(1)

        await asyncio.gather(one("first", BATCH), one("batch", BATCH), one("user", INTERACTIVE))
        return order

    assert run(three) == ["first", "user", "batch"]


def test_a_timed_out_tool_is_named_and_the_others_count() -> None:
    async def three() -> list[tuple[str, Status]]:
        bounded = BoundedTools(2, timeout_s=1, now_ns=now_ns)

        async def takes(seconds: float) -> str:
            await asyncio.sleep(seconds)
            return "done"

        jobs = [Job("slow", lambda: takes(9)), Job("quick", lambda: takes(0.2)), Job("next", lambda: takes(0.5))]
        return [(each.name, each.status) for each in await bounded.run(jobs)]

    assert run(three) == [("slow", Status.TIMED_OUT), ("quick", Status.OK), ("next", Status.OK)]


def test_cancelling_the_round_cancels_its_tools() -> None:
    async def one() -> tuple[bool, int]:
        bounded, cancelled = BoundedTools(now_ns=now_ns), False

        async def hangs() -> None:
            nonlocal cancelled
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                raise

        task = asyncio.create_task(bounded.run([Job("hangs", hangs)]))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        return cancelled, bounded.left_behind

    assert run(one) == (True, 0)


def test_a_breaker_opens_and_lets_one_try_again() -> None:
    breaker, s = Breaker(failures=2, open_s=10), 1_000_000_000
    breaker.tell(False, 0)
    breaker.tell(True, 0)
    breaker.tell(False, 0)
    assert breaker.admits(0)
    breaker.tell(False, 0)

    assert not breaker.admits(9 * s)
    assert breaker.admits(10 * s)  # one may try
    assert not breaker.admits(10 * s)
    breaker.tell(False, 11 * s)
    assert not breaker.admits(20 * s)
    assert breaker.admits(21 * s)
    breaker.tell(True, 21 * s)
    assert breaker.admits(21 * s)


def test_an_open_breaker_refuses_that_tool_alone() -> None:
    async def rounds() -> list[list[Status]]:
        bounded = BoundedTools(breaker_failures=2, now_ns=now_ns)

        async def fails() -> None:
            raise OSError("down")

        async def works() -> str:
            return "up"

        jobs = [Job("bad", fails), Job("good", works)]
        return [[each.status for each in await bounded.run(jobs)] for _ in range(3)]

    assert run(rounds) == [[Status.FAILED, Status.OK]] * 2 + [[Status.REFUSED, Status.OK]]


def test_the_same_question_is_answered_from_the_cache_until_it_expires() -> None:
    async def asks() -> list[str | None]:
        cache, kinds = SemanticCache(ttl_s=60, now_ns=now_ns), []
        await cache.keep(ANN, "Where is my  order?", "On its way.")
        for wait_s in (0, 59, 2):
            await asyncio.sleep(wait_s)
            hit = await cache.find(ANN, "where is my order?")
            kinds.append(hit.kind if hit else None)
        assert cache.counts == {"exact": 2, "similar": 0, "miss": 1}
        assert [hit.answer for hit in cache.log] == ["On its way."] * 2
        return kinds

    assert run(asks) == ["exact", "exact", None]


def test_a_question_in_almost_the_same_words_is_similar_and_one_about_another_order_is_not() -> None:
    async def asks() -> list[str | None]:
        cache, kinds = SemanticCache(threshold=0.85, now_ns=now_ns), []
        await cache.keep(ANN, "How do I send order A-17 back to you?", "With the label.")
        for question in (
            "How do I send order A-17 back to you please?",
            "How do I send order A-18 back to you?",
            "What does the kettle cost?",
        ):
            hit = await cache.find(ANN, question)
            kinds.append(hit.kind if hit else None)
        return kinds

    assert run(asks) == ["similar", None, None]


def test_a_new_version_finds_nothing_and_forgetting_forgets() -> None:
    async def asks() -> list[bool]:
        store = MemoryStore()
        old, new = (SemanticCache(version=version, store=store, now_ns=now_ns) for version in "12")
        await old.keep(ANN, "Hours?", "9 to 5")
        await old.keep(Scope("acme"), "Holidays?", "None")
        found = [await new.find(ANN, "Hours?"), await old.find(ANN, "Hours?"), await old.find(ANN, "Holidays?")]
        assert await old.forget(ANN, "Hours?") == 1
        return [*(bool(each) for each in found), bool(await old.find(ANN, "Hours?"))]

    assert run(asks) == [False, True, True, False]


def test_memory_is_bounded() -> None:
    async def fills() -> list[bool]:
        cache = SemanticCache(store=MemoryStore(per_space=2), similar=False, now_ns=now_ns)
        for question in "abc":
            await cache.keep(ANN, question, question)
        return [bool(await cache.find(ANN, question)) for question in "abc"]

    assert run(fills) == [False, True, True]


def test_vectors_have_length_one_and_are_the_same_each_time() -> None:
    one, again = (HashedWords().vector("Where is order 7?") for _ in range(2))

    assert one == again
    assert sum(number * number for number in one) == pytest.approx(1)
    assert set(HashedWords().vector("?!")) == {0.0}


def test_without_the_extra_the_sentence_model_says_what_to_install() -> None:
    with pytest.raises(ImportError, match="pip install sentence-transformers"):
        SentenceModel()

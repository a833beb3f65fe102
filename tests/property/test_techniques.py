"""What the techniques promise, whatever is thrown at them. In virtual time: nothing here waits for a clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.techniques.bounded_tools import BoundedTools, Job, Status
from agents.techniques.inference_pool import InferencePool
from agents.techniques.semantic_cache import Scope, SemanticCache
from tests.virtual_time import now_ns, run

CALLS = st.lists(
    st.tuples(
        st.sampled_from(["acme", "birch", "cedar"]),  # tenant
        st.integers(0, 2),  # priority
        st.integers(0, 40),  # asks at, tenths of a second
        st.integers(1, 20),  # needs
        st.one_of(st.none(), st.integers(0, 30)),  # gives up after
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(calls=CALLS, size=st.integers(1, 4))
def test_the_pool_holds_its_limit_serves_all_and_loses_no_place(calls: list, size: int) -> None:
    async def all_of_them() -> None:
        pool, inside, most, served = InferencePool(size, now_ns=now_ns), 0, 0, 0

        async def one(tenant: str, priority: int, at: int, needs: int) -> None:
            nonlocal inside, most, served
            await asyncio.sleep(at / 10)
            async with pool.slot(tenant=tenant, priority=priority):
                inside += 1
                most = max(most, inside)
                try:
                    await asyncio.sleep(needs / 10)
                finally:
                    inside -= 1
            served += 1

        async def impatient(call: tuple, patience: int | None) -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience if patience is None else (call[2] + patience) / 10):
                    await one(*call)

        async with asyncio.timeout(10_000):
            await asyncio.gather(*(impatient(call[:4], call[4]) for call in calls))
        assert most <= size
        assert served >= sum(call[4] is None for call in calls)
        assert (pool.running, pool.waiting) == (0, 0)
        async with asyncio.timeout(1):  # all places are there
            await asyncio.gather(*(pool._enter("x", 0) for _ in range(size)))

    run(all_of_them)


@settings(deadline=None, max_examples=12)
@given(rivals=st.integers(1, 4), size=st.integers(1, 3))
def test_the_pool_starves_nobody(rivals: int, size: int) -> None:
    """A batch call among interactive ones that never end to come."""

    async def crowded() -> None:
        pool = InferencePool(size, promote_after_s=2, now_ns=now_ns)

        async def greedy(number: int) -> None:
            while True:
                async with pool.slot(tenant=f"rival {number % rivals}", priority=0):
                    await asyncio.sleep(0.5)

        crowd = [asyncio.create_task(greedy(number)) for number in range(rivals + 3 * size)]
        await asyncio.sleep(3)
        async with asyncio.timeout(2 * 2 + 0.5 * (rivals + 3 * size + 2) * rivals):
            async with pool.slot(tenant="quiet", priority=2) as waited_ns:
                assert waited_ns > 0
        for task in crowd:
            task.cancel()

    run(crowded)


@settings(deadline=None, max_examples=9)
@given(tenants=st.integers(2, 4), size=st.integers(1, 3))
def test_the_pool_is_fair_between_tenants(tenants: int, size: int) -> None:
    async def crowded() -> None:
        pool, served = InferencePool(size, now_ns=now_ns), Counter[str]()

        async def greedy(tenant: str) -> None:
            while True:
                async with pool.slot(tenant=tenant):
                    await asyncio.sleep(0.1)
                    served[tenant] += 1

        # The first asks with twenty calls at once, the others so that one always waits.
        names = ["a"] * 20 + [name for name in "bcd"[: tenants - 1] for _ in range(size + 1)]
        crowd = [asyncio.create_task(greedy(name)) for name in names]
        await asyncio.sleep(20)
        for task in crowd:
            task.cancel()
        assert max(served.values()) <= 1.1 * min(served.values()) + 2

    run(crowded)


TOOLS = st.lists(
    st.tuples(
        st.sampled_from(["returns", "raises", "hangs", "ignores", "cancels itself"]),
        st.integers(0, 50),  # takes, tenths of a second
        st.one_of(st.none(), st.integers(1, 40)),  # its own limit
    ),
    max_size=12,
)


class Stubborn(Exception):
    """Raised by a tool."""


@settings(deadline=None)
@given(tools=TOOLS, limit=st.integers(1, 5), overall=st.integers(1, 60))
def test_the_executor_keeps_its_time_whatever_the_tools_do(tools: list, limit: int, overall: int) -> None:
    async def all_of_them() -> None:
        bounded = BoundedTools(limit, timeout_s=3, overall_s=overall / 10, breaker_failures=99, now_ns=now_ns)
        running = most = 0

        async def tool(kind: str, takes: int) -> str:
            nonlocal running, most
            running += 1
            most = max(most, running)
            try:
                match kind:
                    case "raises":
                        await asyncio.sleep(takes / 10)
                        raise Stubborn
                    case "hangs":
                        await asyncio.Event().wait()
                    case "cancels itself":
                        raise asyncio.CancelledError
                    case "ignores":
                        for _ in range(3):
                            with suppress(asyncio.CancelledError):
                                await asyncio.sleep(100)
                await asyncio.sleep(takes / 10)
                return kind
            finally:
                running -= 1

        jobs = [
            Job(f"{at} {kind}", lambda kind=kind, takes=takes: tool(kind, takes), own and own / 10)
            for at, (kind, takes, own) in enumerate(tools)
        ]
        began_ns = now_ns()
        outcomes = await bounded.run(jobs)

        assert now_ns() - began_ns <= overall / 10 * 1e9 + 1
        assert most <= limit
        assert [outcome.name for outcome in outcomes] == [job.name for job in jobs]
        for outcome, (kind, takes, own) in zip(outcomes, tools, strict=True):
            allowed = min(own / 10 if own else 3, overall / 10)
            if outcome.status is Status.OK:
                assert (outcome.result, kind) == (kind, "returns")
                assert takes / 10 <= allowed + 1e-6
            elif outcome.status is Status.TIMED_OUT:
                assert outcome.ran_ns is not None
                assert outcome.ran_ns <= allowed * 1e9 + 1
            elif outcome.status is Status.FAILED:
                assert kind in ("raises", "cancels itself")
            else:
                assert outcome.status is Status.NOT_STARTED
                assert outcome.ran_ns is None
        await asyncio.sleep(1_000)
        assert (running > 0, bounded.left_behind) == (False, 0)  # even the stubborn ended, and gave their places back
        assert [each.status for each in await bounded.run([Job("x", lambda: tool("returns", 0))])] == [Status.OK]

    run(all_of_them)


WORDS = st.sampled_from(["where", "is", "my", "order", "7", "8", "Where"])
QUESTIONS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
NAMES = st.sampled_from(["a", "b", "ab", "", "a:b", "1:a"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["keep", "find", "forget"]), NAMES, st.one_of(st.none(), NAMES), QUESTIONS), max_size=30
)


@settings(deadline=None)
@given(steps=STEPS, threshold=st.floats(0, 1))
def test_the_cache_never_crosses_users(steps: list, threshold: float) -> None:
    async def all_of_them() -> None:
        cache = SemanticCache(threshold=threshold, now_ns=now_ns)
        for action, tenant, user, question in steps:
            scope = Scope(tenant, user)
            if action == "keep":
                await cache.keep(scope, question, f"{tenant}/{user}")
            elif action == "forget":
                await cache.forget(scope)
            elif hit := await cache.find(scope, question):
                assert hit.answer in (f"{tenant}/{user}", f"{tenant}/{None}")
                assert hit.shared is hit.answer.endswith("/None")
                digits = [set(text) & {"7", "8"} for text in (hit.asked, hit.question)]
                assert digits[0] == digits[1]

    run(all_of_them)

"""One wake-up for many commits, and one for what is due later."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from ingest.wake import Waker
from tests.virtual_time import run


def heard(*asked: tuple[float, float]) -> list[float]:
    """When the broker hears of it if somebody asks at the first of two times for a wake-up so long after it."""

    async def scene() -> list[float]:
        loop, times = asyncio.get_running_loop(), []

        async def publish() -> None:
            times.append(loop.time())

        waker = Waker(publish)
        for at_s, after_s in asked:
            await asyncio.sleep(at_s - loop.time())
            waker.wake(after_s)
        await asyncio.sleep(10)
        return times

    return run(scene)


def test_work_that_comes_alone_is_told_at_once() -> None:
    assert heard((1.0, 0.0)) == [1.0]


def test_many_commits_in_a_moment_are_told_twice() -> None:
    assert heard(*((1 + n / 100, 0.0) for n in range(15))) == pytest.approx([1.0, 1.2])


def test_what_is_due_later_is_told_then() -> None:
    assert heard((1.0, 0.3)) == pytest.approx([1.3])


def test_what_is_due_now_does_not_wait_for_what_is_due_later() -> None:
    assert heard((1.0, 0.3), (1.1, 0.0)) == pytest.approx([1.1, 1.3])


def test_of_many_later_ones_the_first_and_the_last_are_told() -> None:
    assert heard((1.0, 0.3), (1.02, 0.3), (1.04, 0.3)) == pytest.approx([1.3, 1.5])


def test_under_load_it_is_told_at_its_pace_and_once_after_the_end() -> None:
    times = heard(*((1 + n / 50, 0.3 * (n % 2)) for n in range(100)))
    assert all(later - earlier >= 0.2 - 1e-9 for earlier, later in pairwise(times))
    assert len(times) <= 13
    assert times[-1] >= 1 + 99 / 50 + 0.3 - 1e-9


def test_while_the_broker_is_slow_nothing_is_sent_beside() -> None:
    async def scene() -> int:
        begun = 0

        async def publish() -> None:
            nonlocal begun
            begun += 1
            await asyncio.sleep(2)

        waker = Waker(publish)
        for _ in range(10):
            waker.wake()
            await asyncio.sleep(0.1)
        return begun

    assert run(scene) == 1

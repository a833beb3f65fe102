"""Many tabs ask the same; one answer is worked out for them, and never one from before their news."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from dashboard.coalescing import KEPT_MOST, Coalesced

LONG_S = 3600.0


class Kitchen:
    """Works out an answer each time it is asked to, and counts them."""

    def __init__(self, on_work: Callable[[], object] = lambda: None) -> None:
        self.cooked, self.on_work = 0, on_work

    def __call__(self) -> bytes:
        self.on_work()
        self.cooked += 1
        return f"answer {self.cooked}".encode()


def test_one_answer_serves_all_who_ask_meanwhile() -> None:
    coalesced, together, released = Coalesced(), Barrier(8 + 1), Event()
    kitchen = Kitchen(on_work=lambda: released.wait(10))

    def ask() -> bytes:
        together.wait(10)
        return coalesced.answer("live", LONG_S, kitchen)

    with ThreadPoolExecutor(8) as tabs:
        answers = [tabs.submit(ask) for _ in range(8)]
        together.wait(10)
        released.set()
        assert {answer.result(10) for answer in answers} == {b"answer 1"}
    assert kitchen.cooked == 1


def test_an_answer_from_before_the_news_is_worked_out_anew() -> None:
    coalesced, kitchen = Coalesced(), Kitchen()
    assert coalesced.answer("live", LONG_S, kitchen) == b"answer 1"
    assert coalesced.answer("live", -1.0, kitchen) == b"answer 2"  # its news are from after whatever was worked out
    assert coalesced.answer("live", LONG_S, kitchen) == b"answer 2"


def test_questions_do_not_wait_for_one_another() -> None:
    coalesced, begun, released = Coalesced(), Event(), Event()

    def slow() -> bytes:
        begun.set()
        released.wait(10)
        return b"slow"

    with ThreadPoolExecutor(1) as tab:
        waiting = tab.submit(coalesced.answer, "7d", LONG_S, slow)
        assert begun.wait(10)
        assert coalesced.answer("15m", LONG_S, lambda: b"quick") == b"quick"
        released.set()
        assert waiting.result(10) == b"slow"


def test_a_failure_is_told_and_not_kept() -> None:
    coalesced = Coalesced()

    def fail() -> bytes:
        raise OSError("the database is away")

    with pytest.raises(OSError, match="away"):
        coalesced.answer("live", LONG_S, fail)
    assert coalesced.answer("live", LONG_S, lambda: b"back") == b"back"


def test_only_the_newest_answers_are_kept() -> None:
    coalesced, kitchen = Coalesced(), Kitchen()
    for project in range(KEPT_MOST + 1):
        coalesced.answer(project, LONG_S, kitchen)
    assert coalesced.answer(1, LONG_S, kitchen) == b"answer 2"
    assert coalesced.answer(0, LONG_S, kitchen) == f"answer {KEPT_MOST + 2}".encode()

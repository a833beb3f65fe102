"""Waiting for a condition instead of sleeping and hoping."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
STEP_S = 0.05


def until(condition: Callable[[], T], within_s: float, what: str) -> T:
    """The first true answer of ``condition``; fails after ``within_s`` seconds, saying what never came."""
    deadline = time.monotonic() + within_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what}; last seen: {answer!r}")
        time.sleep(STEP_S)

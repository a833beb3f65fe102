"""What big and hostile traces cost: work that grows with their size and not with its square, and no recursion.

Work is counted in lines of the model that are executed, which no other load on the machine can change.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.spans import Event, Span
from ingest.stages import decompose
from tests.property.drawn_traces import NOON
from tests.property.hostile_trees import KINDS, MS, SHAPES, TIMES, hostile
from tests.property.test_decompose_properties import assert_exact

SMALL, LARGER = 240, 4
# Windows of bounded size are not full yet in a small trace. Work by the square would grow 16-fold.
MOST_GROWTH = LARGER * 2
MOST_CPU_S = 60  # on a busy machine; a quiet one takes a tenth of it


def lines_executed(act: Callable[[], Any]) -> int:
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return lines


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from(list(SHAPES)),
    st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=4),
    st.sampled_from(list(TIMES)),
)
def test_work_grows_with_size_and_not_with_its_square(shape: str, kinds: list[str], times: str) -> None:
    small, large = (hostile(shape, kinds, times, size) for size in (SMALL, SMALL * LARGER))
    decompose(small)  # so that what is learned once counts for neither
    few, many = lines_executed(partial(decompose, small)), lines_executed(partial(decompose, large))
    assert many <= few * MOST_GROWTH, f"{few} lines for {SMALL} spans, {many} for {LARGER} times those"


EVERYTHING, CALLS, ROUNDS = tuple(KINDS), ("call",), ("tool", "asking call")


@pytest.mark.parametrize(
    ("shape", "kinds", "times", "size"),
    [
        ("flat", ("plain",), "in line", 100_000),
        ("wide", EVERYTHING, "nested", 50_000),
        ("wide", CALLS, "at once", 50_000),
        ("wide", ROUNDS, "in line", 50_000),
        ("orphans", EVERYTHING, "nested", 10_000),
        ("deep", EVERYTHING, "nested", 10_000),
        ("deep", CALLS, "at once", 10_000),
        ("ring", EVERYTHING, "nested", 10_000),
        ("pairs", ("agent", "call"), "nested", 10_000),
    ],
    ids=lambda value: "-".join(value[:2]) if isinstance(value, tuple) else None,
)
def test_sizes_that_nobody_means_are_exact_and_bounded(
    shape: str, kinds: tuple[str, ...], times: str, size: int
) -> None:
    trace = hostile(shape, kinds, times, size)
    began = time.process_time()
    result = decompose(trace)
    assert time.process_time() - began < MOST_CPU_S
    assert result.spans == size
    assert_exact(result)


def test_no_depth_needs_a_deeper_stack() -> None:
    trace = hostile("deep", EVERYTHING, "nested", 10_000)
    limit, here = sys.getrecursionlimit(), depth_of_stack()
    sys.setrecursionlimit(here + 100)
    try:
        assert_exact(decompose(trace))
    finally:
        sys.setrecursionlimit(limit)


def depth_of_stack() -> int:
    frame: FrameType | None = sys._getframe()
    depth = 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


@pytest.mark.parametrize("name", ["gen_ai.content.completion.chunk", "gen_ai.first_token", "gen_ai.choice", "x"])
def test_a_span_of_many_events_is_read_once(name: str) -> None:
    def call(events: int) -> list[Span]:
        (one,) = hostile("flat", CALLS, "at once", 1)
        told = tuple(Event(name=name, unix_ns=NOON + number * MS // 100) for number in range(events))
        return [replace(one, events=told)]

    small, large = call(1_000), call(4_000)
    few, many = lines_executed(partial(decompose, small)), lines_executed(partial(decompose, large))
    assert many <= few * MOST_GROWTH

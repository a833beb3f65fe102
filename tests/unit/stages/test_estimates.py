"""A call that nobody splits is split by how fast its model wrote elsewhere, or left alone; never called measured."""

from __future__ import annotations

import pytest

from ingest.stages import Basis, BasisKey, Run, Source, Stage, decompose
from ingest.stages.estimate import MIN_CALLS, estimate
from tests.unit.stages.drawing import MS, draw, phases, stages

KEY = BasisKey("support", "m-1", None)


def basis(tpot_ms: float = 10, spread_ms: float = 0, calls: int = MIN_CALLS) -> Basis:
    return Basis(
        tpot_ns=round(tpot_ms * MS),
        low_ns=round((tpot_ms - spread_ms / 2) * MS),
        high_ns=round((tpot_ms + spread_ms / 2) * MS),
        calls=calls,
    )


def estimated(text: str, by: Basis | None = None, key: BasisKey = KEY) -> Run:
    (run,) = decompose(draw(text), bases={key: by or basis()}).runs
    return run


@pytest.mark.parametrize(
    ("tokens", "by", "first_ms"),
    [
        (31, basis(), 700),
        (1, basis(), 1000),
        (100, basis(), 10),
        (101, basis(), None),  # nothing would be left for the prefill
        (1000, basis(), None),
        (0, basis(), None),
        (None, basis(), None),
        (31, basis(calls=MIN_CALLS - 1), None),
        (31, basis(spread_ms=6), 700),
        (31, basis(spread_ms=7), None),  # the first token might lie anywhere within 210 of 1000 ms
        (2, basis(spread_ms=7), 990),
    ],
)
def test_the_first_token_lies_before_the_end_by_the_rest_of_the_output(
    tokens: int | None, by: Basis, first_ms: int | None
) -> None:
    at = estimate(start_ns=0, end_ns=1000 * MS, output_tokens=tokens, basis=by)
    assert at == (None if first_ms is None else first_ms * MS)


def test_an_estimated_call_is_split_and_says_so() -> None:
    run = estimated("chat 0 1000 call out=31")
    (call,) = run.calls
    assert stages(run) == {"prefill": 700, "decode": 300}
    assert (call.source, call.ttft_ns, call.prefill_ns, call.decode_ns) == (
        Source.ESTIMATED, 700 * MS, 700 * MS, 300 * MS,
    )  # fmt: skip
    assert run.breakdown.sources[Stage.PREFILL] is Source.ESTIMATED
    assert run.breakdown.sources_ns[Stage.DECODE] == {Source.ESTIMATED: 300 * MS}


def test_its_own_time_per_token_stays_unknown() -> None:
    assert estimated("chat 0 1000 call out=31").calls[0].tpot_ns is None


def test_a_call_that_is_not_streamed_is_estimated_too() -> None:
    assert estimated("chat 0 1000 call out=31 stream=no").calls[0].source is Source.ESTIMATED


def test_it_counts_back_from_where_its_tools_start() -> None:
    run = estimated("""
        run       0 1000  agent
          chat    0 1000  call  out=11 asks=search
            search 500 900 tool
    """)
    assert phases(run) == "prefill 0-400, decode 400-500, tool_execution 500-900, orchestration 900-1000"


def test_a_call_that_brings_tool_results_re_encodes() -> None:
    run = estimated("""
        run       0  400  agent
          chat    0  100  call  out=2 asks=search
          search 100 200  tool
          chat2  200 400  call  out=6
    """)
    assert stages(run) == {
        "prefill": 90, "decode": 10, "tool_execution": 100, "re_encoding": 150, "continue_decode": 50,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("call", "source"),
    [
        ("chat 0 1000 call out=31 first=200", Source.CLIENT),
        ("chat 0 1000 call out=31 error=boom", Source.UNKNOWN),
        ("chat 0 1000 call", Source.UNKNOWN),
        ("chat 0 1000 call out=1000", Source.UNKNOWN),
        ("chat 0 1000 call out=31 service=other", Source.UNKNOWN),
    ],
)
def test_what_is_known_or_cannot_be_told_is_left_alone(call: str, source: Source) -> None:
    assert estimated(call).calls[0].source is source
    assert decompose(draw(call)).runs[0].calls[0].source is source


def test_attempts_within_one_span_are_no_single_answer() -> None:
    run = estimated("""
        chat    0 1000  call out=31
          post  0  300  http
          post2 310 990 http
    """)
    assert run.calls[0].source is not Source.ESTIMATED


@pytest.mark.parametrize(
    "key",
    [BasisKey("support", "m-2", None), BasisKey("other", "m-1", None), BasisKey("support", "m-1", "vllm")],
)
def test_another_models_services_or_engines_speed_tells_nothing(key: BasisKey) -> None:
    assert estimated("chat 0 1000 call out=31", key=key).calls[0].source is Source.UNKNOWN


def test_a_mixed_stage_names_the_weaker_source_and_how_much_each_told() -> None:
    run = estimated("""
        run      0 2000  agent
          chat   0 1000  call  out=31 first=200
          chat2 1000 2000 call out=31
    """)
    assert run.breakdown.sources[Stage.PREFILL] is Source.ESTIMATED
    assert run.breakdown.sources_ns[Stage.PREFILL] == {Source.CLIENT: 200 * MS, Source.ESTIMATED: 700 * MS}

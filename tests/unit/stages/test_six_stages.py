"""The model itself: each stage where the model says that it is, and every nanosecond once."""

from __future__ import annotations

from ingest.stages import Source, Stage
from tests.unit.stages.drawing import codes, only_run, phases, stages


def test_it_finds_all_six_stages() -> None:
    run = only_run("""
        run        0 200  agent
          chat1    5  60  call  first=30 asks=search
          search  64 100  tool
          chat2  110 190  call  first=140
    """)
    assert phases(run) == (
        "orchestration 0-5, prefill 5-30, decode 30-60, tool_parsing 60-64, tool_execution 64-100, "
        "orchestration 100-110, re_encoding 110-140, continue_decode 140-190, orchestration 190-200"
    )
    assert run.rounds == 2


def test_it_leaves_a_call_unsplit_when_nobody_knows_its_first_token() -> None:
    run = only_run("""
        run      0 100  agent
          chat  10  90  call
    """)
    assert stages(run) == {"model_unsplit": 80, "orchestration": 20}
    assert run.calls[0].source is Source.UNKNOWN
    assert run.calls[0].ttft_ns is None
    assert run.breakdown.sources[Stage.PREFILL] is Source.UNKNOWN
    assert run.breakdown.sources[Stage.RE_ENCODING] is None


def test_it_counts_waited_time_once_and_busy_time_as_often_as_it_was() -> None:
    run = only_run("""
        run          0 100  agent
          chat       0  20  call  first=10 asks=search,weather
          search    20  60  tool
          weather   30  70  tool
    """)
    assert stages(run)["tool_execution"] == 50
    assert run.breakdown.busy_ns[Stage.TOOL_EXECUTION] == 80_000_000


def test_it_gives_gaps_between_tools_of_a_round_to_orchestration() -> None:
    run = only_run("""
        run          0 100  agent
          chat       0  20  call  first=10 asks=search,weather
          search    25  40  tool
          weather   50  70  tool
    """)
    assert stages(run) == {
        "prefill": 10, "decode": 10, "tool_parsing": 5, "tool_execution": 35, "orchestration": 40,
    }  # fmt: skip


def test_a_tool_inside_an_open_call_takes_over_and_the_rest_is_orchestration() -> None:
    run = only_run("""
        run        0 100  agent
          chat     0  80  call  first=10 asks=search
            search 30  60  tool
    """)
    assert stages(run) == {"prefill": 10, "decode": 20, "tool_execution": 30, "orchestration": 40}
    assert run.calls[0].wall_ns == 30_000_000


def test_a_prefetched_tool_never_cuts_decode() -> None:
    run = only_run("""
        run       0 100  agent
          chat    0  60  call  first=20 asks=search
          search 30  80  tool  prefetch
    """)
    assert stages(run) == {"prefill": 20, "decode": 40, "tool_execution": 20, "orchestration": 20}
    assert run.breakdown.busy_ns[Stage.TOOL_EXECUTION] == 50_000_000


def test_a_tool_prefetched_before_the_call_that_asks_for_it_belongs_to_that_call() -> None:
    run = only_run("""
        run        0 200  agent
          chat1    0  40  call  first=20 asks=search
          search  40  60  tool
          report  50 130  tool  prefetch
          chat2   60 100  call  first=80 asks=report
          chat3  130 190  call  first=150
    """)
    assert [(tool.name, tool.round, tool.abandoned) for tool in run.tools] == [
        ("search", 1, False),
        ("report", 2, False),
    ]
    assert stages(run)["tool_execution"] == 20 + 30


def test_the_tool_that_runs_on_after_the_next_call_started_was_abandoned() -> None:
    run = only_run("""
        run        0 300  agent
          chat1    0  50  call  first=20 asks=slow
          slow    50 290  tool
          chat2  100 200  call  first=150
    """)
    assert stages(run)["tool_execution"] == 50
    assert run.breakdown.busy_ns[Stage.TOOL_EXECUTION] == 240_000_000
    (slow,) = run.tools
    assert (slow.abandoned, slow.ok, slow.wall_ns) == (True, None, 240_000_000)
    assert codes(run) == ["tool_abandoned"]


def test_a_span_that_is_one_stage_is_taken_at_its_word() -> None:
    run = only_run("""
        run        0 100  agent
          chat     0  40  call   first=20 asks=search
          parse   42  50  stage  stage=tool_parsing
          pool    50  60  stage  stage=queue
          search  60  90  tool
    """)
    assert stages(run)["tool_parsing"] == 10  # the gap before it, and itself: 40 to 50
    assert stages(run)["queue"] == 10


def test_sources_name_the_weakest_and_say_how_much_came_from_which() -> None:
    run = only_run("""
        run        0 200  agent
          chat1    0  50  call  first=20 asks=search
          search  50  90  tool
          chat2   90 120  call  asks=search
          again  120 130  tool  tool=search
          chat3  130 190  call  first=160
    """)
    breakdown = run.breakdown
    assert breakdown.sources[Stage.PREFILL] is Source.CLIENT
    assert breakdown.sources[Stage.RE_ENCODING] is Source.UNKNOWN
    assert breakdown.sources_ns[Stage.RE_ENCODING] == {Source.CLIENT: 30_000_000}
    assert breakdown.sources[Stage.TOOL_EXECUTION] is Source.CLIENT


def test_call_and_run_metrics_are_unknown_rather_than_zero() -> None:
    run = only_run("""
        run       0 100  agent
          chat    0  50  call  first=20 in=100 out=7 cached=64
          other  50  90  call
    """)
    first, second = run.calls
    assert (first.input_tokens, first.cached_tokens, first.output_tokens) == (100, 64, 7)
    assert first.tpot_ns == 30_000_000 // 6
    assert (second.input_tokens, second.output_tokens, second.tpot_ns) == (None, None, None)
    assert (run.input_tokens, run.ttft_ns, run.first_token_ns) == (100, None, 20_000_000)
    assert run.ttft_sum_ns == 20_000_000


def test_one_token_has_no_time_per_token() -> None:
    run = only_run("chat 0 50 call first=20 out=1")
    assert run.calls[0].tpot_ns is None

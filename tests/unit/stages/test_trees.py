"""Spans that come late, twice, alone, in circles, or at impossible times."""

from __future__ import annotations

from msgspec.structs import replace

from ingest.stages import decompose
from tests.unit.stages.drawing import MS, NOON, TRACE, at, codes, decomposed, draw, only_run, stages


def test_the_last_of_two_spans_with_one_id_wins() -> None:
    early = draw("run 0 100 agent")
    late = draw("""
        run     0 120  agent
          chat 10  90  call first=50
    """)
    result = decompose([*early, *late])
    assert result.duplicate_spans == 1
    assert result.spans == 2
    assert result.runs[0].breakdown.wall_ns == 120 * MS


def test_children_alone_are_a_run_under_the_parent_they_name() -> None:
    run = only_run("""
        chat    10  60  call  first=30 asks=search parent=run
        search  60  90  tool  parent=run
    """)
    assert run.run_id == f"{TRACE}-run"
    assert not run.root_ended
    assert run.breakdown.wall_ns == 80 * MS
    assert codes(run) == ["root_missing"]


def test_the_run_keeps_its_id_when_its_root_comes() -> None:
    children = draw("""
        chat    10  60  call  first=30 parent=run
    """)
    whole = decompose([*children, *draw("run 0 100 agent")])
    (run,) = whole.runs
    assert run.run_id == decompose(children).runs[0].run_id
    assert run.root_ended


def test_children_that_name_different_parents_are_one_run_named_by_the_earliest() -> None:
    run = only_run("""
        chat1    10  60  call  first=30 parent=cycle1
        chat2   100 160  call  first=130 parent=cycle2
    """)
    assert run.root_span_id == "chat1"
    assert len(run.calls) == 2


def test_an_orphan_inside_a_run_that_has_come_is_adopted_by_time() -> None:
    run = only_run("""
        run      0 100  agent
          chat   0  40  call  first=10 asks=search
        search  45  90  tool  parent=lost
    """)
    assert stages(run)["tool_execution"] == 45
    assert codes(run) == ["orphan_adopted"]


def test_a_cycle_is_cut_before_its_earliest_span() -> None:
    spans = [
        replace(span, parent_span_id={"a": "c", "b": "a", "c": "b"}[span.span_id])
        for span in draw("""
        a   0 100  agent
        b  10  90  plain
        c  20  80  call  first=50
        """)
    ]
    for order in (spans, spans[::-1], [spans[1], spans[2], spans[0]]):
        (run,) = decompose(order).runs
        assert run.root_span_id == "a"
        assert stages(run) == {"prefill": 30, "decode": 30, "orchestration": 40}
        assert codes(run) == ["parent_cycle"]


def test_a_span_that_is_its_own_parent_is_a_root() -> None:
    run = only_run("run 0 100 agent parent=run")
    assert run.root_span_id == "run"
    assert "parent_cycle" in codes(run)


def test_a_span_that_ends_before_it_starts_is_empty() -> None:
    run = only_run("""
        run     0 100  agent
          chat 50  40  call
    """)
    assert stages(run) == {"orchestration": 100}
    assert codes(run) == ["ended_before_start"]


def test_absurd_times_are_flagged_and_stay_within_a_bigint() -> None:
    run, chat = draw("""
        run     0 100  agent
          chat 10  90  call
    """)
    for start, end in ((0, run.end_unix_ns), (run.start_unix_ns, 2**64 - 1), (0, 2**64 - 1), (2**64 - 1, 0)):
        (result,) = decompose([replace(run, start_unix_ns=start, end_unix_ns=end), chat]).runs
        assert "time_out_of_range" in codes(result)
        assert 0 <= result.breakdown.wall_ns < 2**63
        assert 0 <= result.end_unix_ns < 2**63


def test_one_absurd_bound_is_taken_for_the_sane_one() -> None:
    (run,) = decompose(
        [replace(span, start_unix_ns=0) if span.span_id == "chat" else span for span in draw("""
        run     0 100  agent
          chat 10  90  call
        """)]
    ).runs  # fmt: skip
    assert run.calls[0].wall_ns == 0
    assert run.breakdown.wall_ns == 100 * MS


def test_another_hosts_clock_is_shifted_into_its_callers_window() -> None:
    run = only_run("""
        run           0 100  agent
          call-out   10  90  http
            remote  510 570  server  service=other tool=search
    """)
    (tool,) = run.tools
    assert tool.start_unix_ns == at(20)
    assert tool.wall_ns == 60 * MS
    assert codes(run) == ["model_not_instrumented", "clock_skew"]


def test_the_wall_extends_to_the_last_call_not_to_an_abandoned_tool() -> None:
    run = only_run("""
        run       0  50  agent
          chat1   0  40  call  first=20 asks=slow
          slow   40 900  tool
          chat2  60 120  call  first=80
    """)
    assert run.breakdown.wall_ns == 120 * MS
    assert codes(run)[0] == "root_ended_early"


def test_ten_thousand_levels_are_as_good_as_ten() -> None:
    span = draw("run 0 100 plain")[0]
    chain = [replace(span, span_id=f"s{n}", parent_span_id=f"s{n - 1}" if n else None) for n in range(10_000)]
    leaf = replace(draw("chat 10 90 call first=30")[0], parent_span_id="s9999")
    (run,) = decompose([leaf, *chain]).runs
    assert stages(run) == {"prefill": 20, "decode": 60, "orchestration": 20}


def test_a_trace_without_agent_model_or_tool_makes_no_run() -> None:
    assert (
        decomposed("""
        startup     0 100  plain
          load     10  90  plain
    """).runs
        == ()
    )


def test_no_spans_make_no_run() -> None:
    assert decompose([]).runs == ()


def test_an_empty_run_is_exact_too() -> None:
    run = only_run("run 10 10 agent")
    assert run.breakdown.wall_ns == 0
    assert run.phases == ()
    assert run.start_unix_ns == NOON + 10 * MS

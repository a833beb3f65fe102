"""One call once, one tool once, however many spans tell of them."""

from __future__ import annotations

from ingest.stages import Source, decompose
from tests.unit.stages.drawing import MS, codes, draw, only_run, stages


def test_a_call_within_a_call_is_the_same_call_with_the_facts_of_both() -> None:
    run = only_run("""
        run          0 100  agent
          framework 10  90  call  in=100 out=20
            client  15  85  call  first=40 scope=client
    """)
    (call,) = run.calls
    assert (call.span_id, call.input_tokens, call.wall_ns) == ("client", 100, 70 * MS)
    assert stages(run) == {"prefill": 25, "decode": 45, "orchestration": 30}


def test_a_model_span_around_several_calls_is_a_loop() -> None:
    run = only_run("""
        loop       0 100  call  in=300
          chat1   10  40  call  first=20 in=100
          chat2   50  90  call  first=60 in=200
    """)
    assert [call.span_id for call in run.calls] == ["chat1", "chat2"]
    assert run.input_tokens == 300


def test_failed_spans_before_the_good_one_within_a_call_are_attempts() -> None:
    run = only_run("""
        run         0 100  agent
          chat      0  90  call
            try1   10  30  call  error=429
            try2   50  85  call  first=60
    """)
    (call,) = run.calls
    assert (call.attempts, call.error) == (2, None)
    spent = stages(run)
    assert (spent["model_unsplit"], spent["prefill"], spent["decode"]) == (20, 10, 25)
    assert spent["orchestration"] == 10 + 20 + 15, "before the first attempt, the pause, after the answer"


def test_two_libraries_siblings_that_overlap_are_one_call() -> None:
    run = only_run("""
        run      0 100  agent
          sdk   10  90  call  scope=one first=40
          wrap  12  90  call  scope=two out=20
    """)
    (call,) = run.calls
    assert (call.ttft_ns, call.output_tokens) == (30 * MS, 20)


def test_two_calls_of_one_library_side_by_side_stay_two() -> None:
    run = only_run("""
        run    0 100  agent
          a   10  90  call  first=40 answer=r-1
          b   12  90  call  first=50 answer=r-2
    """)
    assert len(run.calls) == 2


def test_two_layers_of_one_library_beside_each_other_are_one_call() -> None:
    run = only_run("""
        run       0 100  agent
          stream 10  90  call  first=40
          create 11  90  call  out=20
    """)
    assert len(run.calls) == 1


def test_two_layers_with_one_answer_are_one_call_though_they_count_it_differently() -> None:
    run = only_run("""
        run       0 100  agent
          wrap   10  90  call  scope=one answer=r-1 out=16
          sdk    11  90  call  scope=two answer=r-1 out=15 first=40
    """)
    assert len(run.calls) == 1


def test_a_model_span_without_an_answer_right_before_a_call_is_none() -> None:
    run = only_run("""
        run        0 100  agent
          prepare 10  12  call
          chat    12  90  call  first=40
    """)
    assert [call.span_id for call in run.calls] == ["chat"]
    assert codes(run) == ["no_model_call"]


def test_requests_within_one_model_span_are_told_as_attempts() -> None:
    run = only_run("""
        chat     0 100  call  first=70
          post1  5  20  http
          post2 40  95  http
    """)
    assert run.calls[0].attempts == 2
    assert codes(run) == ["retries_inside"]


def test_an_mcp_chain_is_one_tool_with_its_transport() -> None:
    run = only_run("""
        run            0 200  agent
          chat         0  50  call    first=20 asks=search
          search      50 150  tool
            client    55 145  client  tool=search
              server  70 130  server  tool=search service=inventory
    """)
    (tool,) = run.tools
    assert (tool.span_id, tool.wall_ns, tool.transport_ns) == ("search", 100 * MS, 30 * MS)
    assert stages(run)["tool_execution"] == 100


def test_a_function_within_a_tool_is_part_of_it() -> None:
    run = only_run("""
        run          0 100  agent
          chat       0  40  call  first=20 asks=search
          search    40  90  tool
            lookup  50  80  tool
    """)
    assert [tool.name for tool in run.tools] == ["search"]


def test_an_unkinded_span_named_as_a_tool_that_was_asked_for_is_that_tool() -> None:
    run = only_run("""
        run       0 100  agent
          chat    0  40  call   first=20 asks=search
          search 45  90  plain
          other  90  95  plain
    """)
    assert [tool.name for tool in run.tools] == ["search"]
    assert stages(run)["tool_parsing"] == 5


def test_an_agent_called_by_a_tools_name_is_that_tool() -> None:
    run = only_run("""
        run            0 200  agent
          chat1        0  40  call   first=20 asks=helper
          helper      40 150  agent
            inner     50 140  call   first=80
          chat2      150 190  call   first=170
    """)
    (tool,) = run.tools
    assert (tool.name, tool.agent, run.rounds) == ("helper", True, 2)
    assert [(call.span_id, call.scope) for call in run.calls] == [("chat1", 0), ("inner", 1), ("chat2", 0)]


def test_an_agent_beside_the_tool_that_it_fills_is_what_that_tool_runs() -> None:
    run = only_run("""
        flow           0 200  workflow
          outer        0 200  agent
            chat1      0  40  call   first=20 asks=ask_helper
            ask_helper 40 150  tool
            chat2      150 190  call   first=170
          helper      42 149  agent
            inner1    45  80  call   first=60 asks=search
            search    80 100  tool
            inner2   100 145  call   first=120
    """)
    assert [(tool.name, tool.agent, tool.scope) for tool in run.tools] == [
        ("ask_helper", True, 0),
        ("search", False, 1),
    ]
    assert [(call.span_id, call.scope) for call in run.calls] == [
        ("chat1", 0),
        ("inner1", 1),
        ("inner2", 1),
        ("chat2", 0),
    ]
    assert stages(run)["tool_execution"] == 20 + 5 + 5


def test_an_agent_that_fills_no_tool_stays_beside_it() -> None:
    run = only_run("""
        flow           0 200  workflow
          outer        0 200  agent
            chat1      0  40  call   first=20 asks=search
            search    40 150  tool
          helper      60 120  agent
            inner     65 115  call   first=80
    """)
    assert [call.scope for call in run.calls] == [0, 0]


def test_a_model_span_that_goes_on_after_the_tools_in_it_holds_a_call_that_nobody_tells_of() -> None:
    run = only_run("""
        run          0 1000  agent
          loop       0  900  call   first=200 asks=search
            search 300  500  tool
    """)
    assert stages(run) == {
        "prefill": 200,
        "decode": 100,
        "tool_execution": 200,
        "model_unsplit": 400,
        "orchestration": 100,
    }
    assert codes(run) == ["calls_inside"]


def test_a_model_span_that_closes_once_its_tools_have_run_holds_one_call() -> None:
    run = only_run("""
        run          0 1000  agent
          chat       0  520  call   first=200 asks=search
            search 300  500  tool
    """)
    assert stages(run) == {"prefill": 200, "decode": 100, "tool_execution": 200, "orchestration": 500}


def test_an_agents_span_named_as_a_tool_is_none_where_that_tool_has_its_own() -> None:
    run = only_run("""
        run             0 100  agent
          chat          0  40  call   first=20 asks=final_answer
          final_answer 40  40  agent  id=note
          final_answer 41  42  tool
    """)
    assert [tool.span_id for tool in run.tools] == ["final_answer"]


def test_hand_offs_and_final_answers_do_no_work() -> None:
    run = only_run("""
        run               0 100  agent
          chat            0  40  call  first=20 asks=transfer_to_billing
          transfer       40  41  tool  tool=transfer_to_billing
          final_answer   90  91  tool
    """)
    assert [tool.pseudo for tool in run.tools] == [True, True]


def test_which_call_asked_is_told_by_id_then_by_name_then_by_time() -> None:
    run = only_run("""
        run          0 300  agent
          chat1      0  40  call  first=20 asks=search#c1
          search1   40  60  tool  tool=search callid=c1
          chat2     60 100  call  first=80 asks=search#c2,weather
          weather  100 120  tool
          search2  120 140  tool  tool=search callid=c2
          other    140 150  tool
    """)
    assert [(tool.name, tool.round) for tool in run.tools] == [
        ("search", 1), ("weather", 2), ("search", 2), ("other", 2),
    ]  # fmt: skip


def test_a_tools_failure_is_told_and_what_failed_within_it_is_not() -> None:
    run = only_run("""
        run        0 200  agent
          chat     0  40  call  first=20 asks=bad,good
          bad     40  80  tool  error=boom
          good    80 150  tool
            get   90 100  http  error=404
    """)
    assert [(tool.name, tool.ok, tool.error) for tool in run.tools] == [
        ("bad", False, "boom"), ("good", True, None),
    ]  # fmt: skip


def test_a_call_carries_tool_results_after_one_that_asked_for_tools() -> None:
    run = only_run("""
        run        0 300  agent
          chat1    0  40  call  first=20 finish=tool_calls
          chat2   80 120  call  first=100
          chat3  130 170  call  first=150
    """)
    assert [call.carries_tool_results for call in run.calls] == [False, True, False]


def test_a_call_that_repeats_a_failed_one_carries_what_that_carried() -> None:
    run = only_run("""
        run        0 300  agent
          chat1    0  40  call  first=20 asks=search
          search  40  60  tool
          chat2   60  80  call  error=429
          chat3  100 170  call  first=150
    """)
    assert [call.carries_tool_results for call in run.calls] == [False, True, True]
    assert stages(run)["model_unsplit"] == 20


def test_an_engines_span_without_context_joins_by_its_response_id() -> None:
    spans = draw("chat 0 100 call answer=r-1")
    engine = draw("llm 900 990 engine ttft=40 e2e=90 prefill=30 answer=r-1 trace=other service=engine-0")
    (run,) = decompose(spans, engine).runs
    assert run.calls[0].source is Source.ENGINE
    assert stages(run) == {"transport": 10, "queue": 10, "prefill": 30, "decode": 50}

"""Sub-agents, branches side by side, and who owns an instant that several want."""

from __future__ import annotations

from tests.unit.stages.drawing import only_run, phases, stages


def test_a_sub_agents_stages_own_their_instants_and_the_rest_stays_tool() -> None:
    run = only_run("""
        run              0 200  agent
          chat1          0  40  call   first=20 asks=research
          research      45 150  tool
            researcher  50 145  agent
              inner     60 100  call   first=80
              lookup   110 140  tool
          chat2        150 190  call   first=170
    """)
    assert phases(run) == (
        "prefill 0-20, decode 20-40, tool_parsing 40-45, tool_execution 45-60, prefill 60-80, "
        "decode 80-100, tool_parsing 100-110, tool_execution 110-140, tool_execution 140-150, "
        "re_encoding 150-170, continue_decode 170-190, orchestration 190-200"
    )


def test_of_sub_agents_side_by_side_the_last_to_finish_owns() -> None:
    run = only_run("""
        run           0 300  agent
          chat        0  40  call  first=20 asks=quick,thorough
          thorough   40 240  tool
            deep     50 230  call  first=150
          quick      45 100  tool
            short    50  90  call  first=70
    """)
    assert stages(run) == {
        "prefill": 20 + 100, "decode": 20 + 80, "tool_execution": 20, "orchestration": 60,
    }  # fmt: skip


def test_branches_with_calls_of_their_own_are_scopes() -> None:
    run = only_run("""
        run          0 200  agent
          left       0 180  chain
            chat1    0 100  call  first=50
            chat2  110 170  call  first=140
          right      5  60  chain
            chat3    5  55  call  first=30
    """)
    assert stages(run) == {"prefill": 80, "decode": 80, "orchestration": 40}
    assert run.rounds == 3


def test_steps_one_after_another_are_no_branches() -> None:
    run = only_run("""
        run          0 200  agent
          step1      0  52  chain
            chat1    0  50  call  first=25 asks=search
            search  50  52  tool
          step2     50 120  chain
            chat2   60 120  call  first=90
    """)
    assert [call.carries_tool_results for call in run.calls] == [False, True]


def test_in_one_scope_the_claim_that_started_last_owns() -> None:
    run = only_run("""
        run      0 100  agent
          a      0  80  call  first=10
          b     20  60  call  first=40
    """)
    assert phases(run) == (
        "prefill 0-10, decode 10-20, prefill 20-40, decode 40-60, decode 60-80, orchestration 80-100"
    )


def test_a_very_deep_nest_of_sub_agents_is_flattened_and_exact() -> None:
    lines = [f"{' ' * n}t{n} {n} {1000 - n} tool" for n in range(300)]
    lines.append(f"{' ' * 300}chat 400 600 call first=500")
    run = only_run("\n".join(lines))
    assert stages(run) == {"prefill": 100, "decode": 100, "tool_execution": 800}


def test_a_run_of_no_length_within_a_gap_has_no_phase() -> None:
    assert (
        only_run("""
        agent      10 10  agent
          chat      5  8  call
          search   15 20  tool
    """).phases
        == ()
    )

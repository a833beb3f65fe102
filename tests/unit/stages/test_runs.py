"""Which spans are runs, and who they were."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ingest.stages import decompose
from tests.unit.stages.drawing import MS, codes, decomposed, draw, only_run, stages


def roots(text: str) -> list[str]:
    return [run.root_span_id for run in decomposed(text).runs]


def test_the_topmost_agent_is_the_run() -> None:
    assert roots("""
        request        0 100  plain
          outer       10  90  agent
            inner     20  80  agent
              chat    30  70  call
    """) == ["outer"]


def test_a_workflow_that_holds_calls_is_the_run() -> None:
    assert roots("""
        flow        0 100  workflow
          helper   10  90  agent
            chat   20  80  call
    """) == ["flow"]


def test_a_trace_can_hold_several_runs() -> None:
    assert roots("""
        request     0 100  plain
          first     0  40  agent
          second   50  90  agent
    """) == ["first", "second"]


def test_a_chain_is_a_run_only_where_no_agent_is() -> None:
    assert roots("""
        request     0 100  plain
          chain    10  90  chain
            chat   20  80  call
    """) == ["chain"]
    assert roots("""
        chain       0 100  chain
          helper   10  90  agent
            chat   20  80  call
    """) == ["helper"]


def test_steps_without_any_call_are_a_run_whose_time_is_nobodys() -> None:
    run = only_run("""
        request      0 100  plain
          chain     10  90  chain
            inner   20  80  chain
    """)
    assert (run.root_span_id, stages(run)) == ("chain", {"orchestration": 80})
    assert codes(run) == ["model_not_instrumented"]
    assert roots("request 0 100 plain") == []


@pytest.mark.parametrize(("result", "oddities"), [("exact", []), ("similar", []), ("miss", ["model_not_instrumented"])])
def test_a_run_that_a_cache_answered_needs_no_model(result: str, oddities: list[str]) -> None:
    run = only_run(f"""
        support      0 100  agent
          cache     10  20  plain  cache={result}
    """)
    assert (stages(run), codes(run)) == ({"orchestration": 100}, oddities)


def test_steps_beside_a_run_of_the_same_trace_are_none() -> None:
    assert roots("""
        chain    0  40  chain
        helper  50  90  agent
    """) == ["helper"]


def test_without_any_agent_the_root_is_the_run() -> None:
    assert roots("""
        main        0 100  plain
          chat1    10  40  call
          chat2    50  90  call
    """) == ["main"]


def test_a_lone_call_is_a_run_of_one_call() -> None:
    run = only_run("chat 0 100 call first=40")
    assert (run.rounds, stages(run)) == (1, {"prefill": 40, "decode": 60})


def test_an_engines_span_that_nobody_claims_is_a_run_of_one_call() -> None:
    run = only_run("llm 0 100 engine ttft=40 e2e=100 prefill=30 decode=60 service=engine-0")
    assert stages(run) == {"queue": 10, "prefill": 30, "decode": 60}
    assert run.calls[0].engine == "engine-0"


def test_the_server_side_of_an_mcp_call_alone_is_no_run() -> None:
    assert roots("serve 0 100 server tool=search") == []


def test_a_tool_in_a_trace_of_its_own_is_a_run_of_its_own() -> None:
    run = only_run("search 0 100 tool")
    assert stages(run) == {"tool_execution": 100}
    assert codes(run) == ["model_not_instrumented"]


@pytest.mark.parametrize(("flags", "ended"), [(0x100, False), (0x300, True), (0, False)])
def test_an_agent_whose_parent_is_missing_has_ended_only_if_that_is_remote(flags: int, ended: bool) -> None:
    run = only_run(f"helper 0 100 agent parent=lost flags={flags}")
    assert (run.root_span_id, run.root_ended) == ("helper", ended)


def test_it_knows_service_version_environment_and_session() -> None:
    run = only_run("""
        helper    0 100  agent  session=s-1
          chat   10  90  call
    """)
    assert (run.service, run.version, run.environment) == ("support", "1.4.0", "test")
    assert (run.name, run.agent, run.session_id, run.model) == ("helper", "helper", "s-1", "m-1")


def test_it_reads_the_older_name_of_the_environment() -> None:
    span = replace(draw("chat 0 100 call")[0], resource={"deployment.environment": "prod"})
    assert decompose([span]).runs[0].environment == "prod"


def test_a_response_id_is_no_session() -> None:
    run = only_run("""
        helper    0 100  agent
          chat   10  90  call  session=resp_123 answer=resp_123
    """)
    assert run.session_id is None


def test_a_run_failed_if_its_root_did_or_its_last_call() -> None:
    assert only_run("helper 0 100 agent error=boom").error == "boom"
    assert (
        only_run("""
        helper    0 100  agent
          chat   10  90  call  error=overloaded
    """).status
        == "error"
    )


def test_a_handled_error_does_not_fail_the_run() -> None:
    run = only_run("""
        helper    0 100  agent
          chat1  10  40  call  error=overloaded
          chat2  50  90  call  first=60
    """)
    assert (run.status, run.error, run.calls[0].error) == ("ok", None, "overloaded")


def test_the_final_answers_first_token_counts_from_the_runs_start() -> None:
    run = only_run("""
        helper     0 200  agent
          chat1   10  40  call  first=20 asks=search
          search  40  80  tool
          chat2   90 190  call  first=120
    """)
    assert (run.ttft_ns, run.first_token_ns) == (120 * MS, 120 * MS)

"""Why a run was slow, in sentences that carry their figures."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dashboard.verdicts import Finding, judge
from dashboard.verdicts.finding import about
from ingest.read.values import RunDetail
from tests.unit.dashboard.drawn import MS, call, drawn_run, tool, two_rounds


def found(run: RunDetail) -> dict[str, Finding]:
    return {finding.code: finding for finding in judge(run).findings}


def text(finding: Finding) -> str:
    return finding.text.replace("\u202f", " ")


def two_prompts(**second: Any) -> RunDetail:
    """A prompt of 4,000 tokens, then one of 5,000 that carries it on; reading the second took a second."""
    given: dict[str, Any] = {"prefill_ns": 1000 * MS, "input_tokens": 5000, "cached_tokens": 1000} | second
    return drawn_run(
        "prefill 0 500 c1\ndecode 500 600 c1\nre_encoding 600 1600 c2\ncontinue_decode 1600 1700 c2",
        calls=[
            call("c1", 0, 600, prefill_ns=500 * MS, input_tokens=4000, output_tokens=100, cached_tokens=0),
            call("c2", 600, 1100, round=2, carries_tool_results=True, **given),
        ],
    )


def test_the_largest_of_the_ten_is_named_with_its_share() -> None:
    verdict = judge(two_rounds())
    assert text(verdict.headline) == "Tool execution cost most: 200 ms, 33 % of the run."
    assert verdict.headline.numbers == {"ns": 200 * MS, "share": 200 / 605, "wall_ns": 605 * MS}
    assert next(text(f) for f in verdict.said) == "It was search."


def test_what_was_split_by_estimate_is_said() -> None:
    assert text(found(two_rounds())["estimated"]) == "170 ms of the run is split by estimate."


def test_an_estimate_that_cost_most_is_told_as_one() -> None:
    run = drawn_run("re_encoding 0 1234 c1 estimated\ndecode 1234 1500 c1", calls=[call("c1", 0, 1500)])
    assert text(judge(run).headline) == "Re-encoding cost most: about 1.2 s, 82 % of the run, by estimate."


def test_a_cold_cache_costs_at_most_what_the_prompt_repeats() -> None:
    cold = found(two_prompts())["cold_cache"]
    # 4,100 of 5,000 tokens were in the call before and 1,000 were held: of 4,000 uncached ones 3,100 were read in vain.
    assert cold.saves_at_most_ns == 1000 * MS * 3100 // 4000
    assert cold.numbers == {
        "calls": 1, "repeated_tokens": 4100, "missed_tokens": 3100, "cached_tokens": 1000, "waited_ns": 1000 * MS,
        "share_held": 1000 / 4100,
    }  # fmt: skip
    assert text(cold).startswith("The cache held 24 % of the 4 100 prompt tokens that round 2 repeated")


def test_a_full_kv_cache_stands_beside_a_cold_cache() -> None:
    run = two_prompts()
    run.calls[1].engine_state = engine(most_kv_usage=0.97)
    assert "while the KV cache of vllm-eu-2 was up to 97 % full" in text(found(run)["cold_cache"])


@pytest.mark.parametrize(
    "told",
    [
        {"cached_tokens": None},
        {"cached_tokens": 4090},
        {"input_tokens": None},
        {"prefill_ns": None},
        {"model": "other"},
    ],
    ids=["cached tokens unknown", "cached but for a block", "prompt unknown", "unsplit", "another model"],
)
def test_no_cold_cache_is_claimed_where_the_facts_do_not_hold_it(told: dict[str, Any]) -> None:
    assert "cold_cache" not in found(two_prompts(**told))


def test_the_first_prompt_of_a_run_is_no_miss() -> None:
    run = drawn_run(
        "prefill 0 900 c1", calls=[call("c1", 0, 900, prefill_ns=900 * MS, input_tokens=9000, cached_tokens=0)]
    )
    assert "cold_cache" not in found(run)
    assert text(found(run)["cached_share"]) == "The cache held 0 % of the 9 000 prompt tokens of that call."


def test_tools_asked_for_together_could_have_run_side_by_side() -> None:
    run = drawn_run(
        "decode 0 100 c1\ntool_execution 100 400 t1\ntool_execution 400 600 t2\ncontinue_decode 600 700 c2",
        calls=[call("c1", 0, 100), call("c2", 600, 100, round=2)],
        tools=[tool("t1", 100, 300), tool("t2", 400, 200, name="policy")],
    )
    serial = found(run)["serial_tools"]
    assert serial.saves_at_most_ns == 200 * MS
    assert serial.spans == ("t1", "t2")
    assert text(serial) == (
        "2 tools that round 1 asked for together ran one after another: 500 ms, of which the longest alone took 300 ms."
    )


@pytest.mark.parametrize(
    "tools",
    [
        [tool("t1", 100, 300), tool("t2", 120, 280)],
        [tool("t1", 100, 300, ok=False), tool("t2", 400, 200)],
        [tool("t1", 100, 300), tool("t2", 400, 200, round=2)],
        [tool("t1", 100, 300), tool("t2", 400, 200, pseudo=True)],
    ],
    ids=["they overlap", "the second tries the first again", "of two rounds", "one is no tool"],
)
def test_tools_that_had_to_wait_or_did_not_are_not_called_serial(tools: list[Any]) -> None:
    run = drawn_run(
        "decode 0 100 c1\ntool_execution 100 400 t1\ntool_execution 400 600 t2",
        calls=[call("c1", 0, 100), call("c0", 0, 100, round=2)], tools=tools,
    )  # fmt: skip
    assert "serial_tools" not in found(run)


def engine(**told: Any) -> Any:
    state = {"most_kv_usage": None, "most_waiting": None, "preempted": None} | told
    return SimpleNamespace(engine_name="vllm-eu-2", state=SimpleNamespace(**state))


def test_waiting_in_an_engine_names_it_and_how_many_waited() -> None:
    calls = [call("c1", 0, 100, queue_ns=60 * MS, engine_state=engine(most_waiting=12.0, preempted=3.0))]
    told = found(drawn_run("queue 0 60 c1 engine\ndecode 60 100 c1 engine", calls=calls))
    assert text(told["engine_queue"]) == (
        "Waiting in the queue of vllm-eu-2 cost 60 ms over 1 call, with up to 12 requests waiting there."
    )
    assert told["engine_queue"].saves_at_most_ns == 60 * MS
    assert text(told["preempted"]) == "vllm-eu-2 put 3 requests back around round 1 to free its KV cache."
    assert told["preempted"].saves_at_most_ns is None


def test_waiting_on_the_agents_side_is_not_laid_to_the_engine() -> None:
    run = drawn_run(
        "queue 0 100 pool client\nqueue 100 110 c1 engine\ndecode 110 150 c1 engine",
        calls=[call("c1", 100, 50, queue_ns=10 * MS)],
    )
    told = found(run)
    assert text(told["own_queue"]) == "100 ms of waiting was on the agent’s side, before a call."
    assert text(told["engine_queue"]).startswith("Waiting in the engine’s or a gateway’s queue cost 10 ms over 1 call")


def test_every_round_waits_for_its_first_token() -> None:
    run = drawn_run(
        "prefill 0 100 c1\ndecode 100 150 c1\nre_encoding 150 300 c2\ncontinue_decode 300 350 c2",
        calls=[call("c1", 0, 150, ttft_ns=100 * MS), call("c2", 150, 200, ttft_ns=150 * MS, round=2)],
        ttft_sum_ns=250 * MS,
    )
    rounds = found(run)["rounds_ttft"]
    assert rounds.saves_at_most_ns == 100 * MS  # one round always stays; at best it is the longest
    assert "2 rounds each waited for a first token: 250 ms in all, 71 % of the run" in text(rounds)
    assert "a round less would save about 125 ms" in text(rounds)


def test_an_unsplit_call_that_did_not_stream_says_why() -> None:
    run = drawn_run("model_unsplit 0 100 c1 unknown", calls=[call("c1", 0, 100, source="unknown", streamed=False)])
    unsplit = found(run)["unsplit"]
    assert text(unsplit).startswith("First token unknown for its call: the provider did not stream")
    assert unsplit.saves_at_most_ns is None


def test_failed_attempts_of_a_call_are_what_is_unsplit_of_it() -> None:
    run = drawn_run(
        "model_unsplit 0 200 c1\nprefill 200 300 c1\ndecode 300 320 c1", calls=[call("c1", 0, 320, attempts=3)]
    )
    assert text(found(run)["call_retries"]) == "Round 1 took 3 attempts: 200 ms went into those that failed."
    assert found(run)["call_retries"].saves_at_most_ns == 200 * MS


def test_failed_tools_are_counted_with_what_was_waited_for_them() -> None:
    tools = [tool("t1", 0, 100, ok=False), tool("t2", 0, 60)]
    failed = found(drawn_run("tool_execution 0 100 t1", tools=tools))["failed_tools"]
    assert text(failed) == "1 of 2 tool calls failed (search) after 100 ms of waiting."


def test_a_tool_that_was_left_tells_how_long_the_agent_had_waited() -> None:
    left = found(drawn_run("tool_execution 0 80 t1\ndecode 80 100 c1", tools=[tool("t1", 0, 100, abandoned=True)]))
    assert text(left["abandoned_tools"]) == "The agent waited 80 ms for search and went on without the result."


def test_own_code_tells_where_its_longest_gap_lies() -> None:
    run = drawn_run(
        "orchestration 0 10 -\ndecode 10 50 c1\norchestration 50 90 -\ndecode 90 100 c2",
        calls=[call("c1", 10, 40), call("c2", 90, 10, round=2)],
    )
    assert (
        text(found(run)["own_code"])
        == "The agent’s own code and gaps took 50 ms; the longest, 40 ms, came before round 2."
    )


def test_a_run_without_a_model_call_is_not_laid_to_the_agents_code() -> None:
    told = found(drawn_run("orchestration 0 100 -\ntool_execution 100 120 t1", tools=[tool("t1", 100, 20)]))
    assert "own_code" not in told
    assert text(told["no_model_call"]) == "No model call was seen, so time between tools counts here."


def test_a_run_in_flight_speaks_of_so_far() -> None:
    assert judge(two_rounds(provisional=True, root_ended=False)).headline.text.startswith(
        "So far tool execution cost most"
    )


def test_a_run_without_time_says_that_nothing_was_measured() -> None:
    verdict = judge(drawn_run("prefill 0 0 c1"))
    assert verdict.headline.text == "This run took no time that could be measured."
    assert not verdict.findings


def test_help_is_told_by_what_it_could_save_at_most() -> None:
    helps = judge(two_prompts()).helps
    assert next(f.code for f in helps) == "cold_cache"
    assert all(0 < (f.saves_at_most_ns or 0) <= 1700 * MS for f in helps)


@pytest.mark.parametrize(
    ("ns", "words"),
    [(9_172_000_000, "9.2 s"), (180_400_000, "180 ms"), (14_795_000_000, "15 s"), (8_440_000, "8.4 ms")],
)
def test_an_estimate_has_two_digits(ns: int, words: str) -> None:
    assert str(about(ns)).replace("\u202f", " ") == words

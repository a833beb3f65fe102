"""What cost most, in words that carry their figures."""

from dashboard.pages.parts.sentences import cost
from tests.unit.dashboard.drawn import MS, call, drawn_run, tool, two_rounds


def said(run: object) -> str:
    headline, reasons = cost(run)  # type: ignore[arg-type]
    return " ".join([headline, *reasons]).replace("\u202f", " ")


def test_the_largest_of_the_ten_is_named_with_its_share() -> None:
    assert said(two_rounds()).startswith("Tool execution cost most: 200 ms, 33 % of the run. It was search.")


def test_what_was_split_by_estimate_is_said() -> None:
    assert "170 ms of the run is split by estimate." in said(two_rounds())


def test_re_encoding_tells_what_the_cache_held() -> None:
    run = drawn_run(
        "re_encoding 0 100 c1",
        calls=[
            call("c1", 0, 100, prefill_ns=100 * MS, carries_tool_results=True, input_tokens=1000, cached_tokens=200)
        ],
    )
    assert "The cache held 20 % of the 1 000 prompt tokens of that call." in said(run)


def test_an_unsplit_call_that_did_not_stream_says_why() -> None:
    run = drawn_run("model_unsplit 0 100 c1 unknown", calls=[call("c1", 0, 100, source="unknown", streamed=False)])
    assert "First token unknown for its call: the provider did not stream." in said(run)


def test_waiting_on_the_agents_side_is_not_laid_to_the_engine() -> None:
    run = drawn_run(
        """
        queue 0 100 pool client
        queue 100 102 c1 engine
        decode 102 150 c1 engine
        """,
        calls=[call("c1", 100, 150, queue_ns=2 * MS)],
    )
    assert "100 ms of it was on the agent’s side, before a call." in said(run)
    assert "1 call waited 2.0 ms in the engine or gateway." in said(run)


def test_failed_tools_are_counted() -> None:
    tools = [tool("t1", 0, 100, ok=False), tool("t2", 0, 60)]
    assert "1 of 2 tool calls failed." in said(drawn_run("tool_execution 0 100 t1", tools=tools))


def test_a_run_in_flight_speaks_of_so_far() -> None:
    assert said(two_rounds(provisional=True, root_ended=False)).startswith("So far tool execution cost most")


def test_a_run_without_time_says_that_nothing_was_measured() -> None:
    assert said(drawn_run("prefill 0 0 c1")) == "This run took no time that could be measured."

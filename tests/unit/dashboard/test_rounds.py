"""The rounds table: every nanosecond of the run in one row."""

from dashboard.pages.parts.rounds import rounds, tools_of
from tests.unit.dashboard.drawn import MS, call, drawn_run, tool, two_rounds


def test_rows_add_up_to_the_wall() -> None:
    run = two_rounds()
    rows = rounds(run, tools_of(run))
    assert sum(row.wall_ns for row in rows) == run.wall_ns
    assert round(sum(float(row.time.value) for row in rows), 3) == 605.0


def test_a_round_is_the_call_with_its_tools_and_the_gaps_up_to_the_next() -> None:
    rows = {row.label: row for row in rounds(two_rounds(), tools_of(two_rounds()))}
    assert [row.wall_ns // MS for row in rows.values()] == [10, 420, 175]
    assert rows["1"].asked == "search"
    assert rows["2"].asked == "the answer"
    assert [s.stage for s in rows["1"].segments] == [
        "prefill",
        "decode",
        "tool_parsing",
        "tool_execution",
        "orchestration",
    ]


def test_calls_of_an_agent_that_was_called_stand_under_the_round_that_called_it() -> None:
    run = drawn_run(
        "decode 0 10 c1\ntool_execution 10 12 agent\ndecode 12 20 inner1\ndecode 20 30 inner2\ndecode 30 40 c2",
        calls=[
            call("c1", 0, 10),
            call("inner1", 12, 8, scope=1),
            call("inner2", 20, 10, scope=1, round=2),
            call("c2", 30, 10, round=2),
        ],
        tools=[tool("agent", 10, 20, name="researcher", agent=True)],
    )
    rows = rounds(run, tools_of(run))
    assert [row.label for row in rows] == ["1", "1.1", "1.2", "2"]
    assert rows[0].asked == "researcher (agent)"
    assert sum(row.wall_ns for row in rows) == run.wall_ns


def test_a_tool_that_runs_on_belongs_to_the_call_that_asked_for_it() -> None:
    run = drawn_run(
        "decode 0 10 c1\ntool_execution 10 20 slow\ndecode 20 30 c2\ntool_execution 30 40 slow",
        calls=[call("c1", 0, 10), call("c2", 20, 10, round=2)],
        tools=[tool("slow", 10, 30)],
    )
    assert [row.wall_ns // MS for row in rounds(run, tools_of(run))] == [30, 10]


def test_a_run_without_a_model_call_has_no_rounds() -> None:
    run = drawn_run("tool_execution 0 10 t1", tools=[tool("t1", 0, 10)])
    assert rounds(run, tools_of(run)) == []

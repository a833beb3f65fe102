"""Which rows the waterfall has, in which order, and what they draw."""

from dashboard.pages.parts.waterfall import waterfall
from ingest.read.values import SpanRow, TraceDetail
from tests.unit.dashboard.drawn import MS, call, drawn_run, span, tool, two_rounds


def trace(*spans: SpanRow, runs: list[str] | None = None) -> TraceDetail:
    return TraceDetail(trace_id="ab" * 16, runs=runs or ["ab" * 16 + "-root"], spans=list(spans))


SPANS = (
    span("root", None, 0, 605),
    span("c1", "root", 10, 210),
    span("http", "c1", 12, 200),
    span("t1", "root", 220, 420),
    span("c2", "root", 430, 600),
)


def test_rows_come_parents_first_by_start() -> None:
    rows = waterfall(two_rounds(), trace(*reversed(SPANS)))["rows"]
    assert [(row["id"], row["depth"], row["kind"]) for row in rows] == [
        ("root", 0, "agent"),
        ("c1", 1, "call"),
        ("http", 2, "span"),
        ("t1", 1, "tool"),
        ("c2", 1, "call"),
    ]


def test_solid_blocks_are_what_the_user_waited_for() -> None:
    rows = {row["id"]: row for row in waterfall(two_rounds(), trace(*SPANS))["rows"]}
    assert rows["c1"]["blocks"] == [
        ["prefill", 10 * MS, 110 * MS, False, False],
        ["decode", 110 * MS, 210 * MS, False, False],
    ]
    assert rows["c2"]["blocks"][0] == ["re_encoding", 430 * MS, 530 * MS, True, False]
    assert rows["c1"]["first"] == 110 * MS
    assert rows["http"]["blocks"] == []


def test_a_tool_beside_the_critical_path_is_pale() -> None:
    run = drawn_run(
        "decode 0 10 c1\ntool_execution 10 30 long",
        calls=[call("c1", 0, 10)],
        tools=[tool("long", 10, 20), tool("short", 10, 5)],
    )
    rows = {row["id"]: row for row in waterfall(run, None)["rows"]}
    assert rows["short"]["blocks"] == [["tool_execution", 10 * MS, 15 * MS, False, True]]
    assert not rows["short"]["critical"]


def test_a_gap_is_drawn_before_the_row_that_ended_it() -> None:
    rows = {row["id"]: row for row in waterfall(two_rounds(), trace(*SPANS))["rows"]}
    assert rows["t1"]["gaps"] == [["tool_parsing", 210 * MS, 220 * MS]]
    assert rows["c2"]["gaps"] == [["orchestration", 420 * MS, 430 * MS]]
    assert rows["root"]["gaps"] == [["orchestration", 600 * MS, 605 * MS]]


def test_spans_of_another_run_in_the_trace_are_left_out() -> None:
    other = (span("other", None, 0, 900), span("theirs", "other", 0, 800))
    found = waterfall(two_rounds(), trace(*SPANS, *other, runs=["x-root", "x-other"]))
    assert {row["id"] for row in found["rows"]} == {"root", "c1", "http", "t1", "c2"}


def test_an_adopted_orphan_stands_below_the_root() -> None:
    orphan = span("t1", "never-came", 220, 420)
    rows = waterfall(two_rounds(), trace(*SPANS[:3], orphan, SPANS[4]))["rows"]
    assert ("t1", 1) in [(row["id"], row["depth"]) for row in rows]


def test_a_cycle_of_parents_ends() -> None:
    found = waterfall(two_rounds(), trace(span("root", "c1", 0, 605), span("c1", "root", 10, 210)))
    assert [row["id"] for row in found["rows"]].count("root") == 1


def test_a_chain_of_five_thousand_spans_needs_no_recursion() -> None:
    chain = [span("root", None, 0, 605), *(span(f"s{i}", f"s{i - 1}" if i else "root", 0, 600) for i in range(5000))]
    assert waterfall(two_rounds(), trace(*chain))["rows"][5000]["depth"] == 5000


def test_names_cannot_turn_the_text_around_them() -> None:
    rows = waterfall(two_rounds(), trace(SPANS[0], span("x", "root", 0, 1, name="a\u202eb\x1b[31m")))["rows"]
    assert rows[1]["name"] == "a⟨U+202E⟩b␛[31m"

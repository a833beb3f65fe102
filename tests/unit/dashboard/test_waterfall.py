"""Which rows the waterfall has, in which order, and what they draw."""

from __future__ import annotations

from typing import Any

from dashboard.pages.parts.waterfall import waterfall
from ingest.read.span_times import SpanTimes
from ingest.read.values import RunDetail, WarningRow
from tests.unit.dashboard.drawn import MS, START, drawn_run, tool, two_rounds

ID = 16


def span(parent: str | None, start: int, end: int, name: str = "work", *, failed: bool = False) -> SpanTimes:
    return SpanTimes(parent and sid(parent), name, START + start * MS, START + end * MS, failed)


def sid(name: str) -> str:
    """A span id as long as real ones, from a short name."""
    return name.ljust(ID, "-")


SPANS = {
    "root": span(None, 0, 605),
    "c1": span("root", 10, 210),
    "http": span("c1", 12, 200),
    "t1": span("root", 220, 420),
    "c2": span("root", 430, 600),
}


def drawn(run: RunDetail, spans: dict[str, SpanTimes], roots: tuple[str, ...] = ()) -> dict[str, Any]:
    """With every id as long as a real one, which is what the columns rest on."""
    run.root_span_id = sid(run.root_span_id)
    for fact in (*run.calls, *run.tools):
        fact.span_id = sid(fact.span_id)
    run.phases = [
        type(p)(
            start_ns=p.start_ns, end_ns=p.end_ns, owner=p.owner, source=p.source, span_id=p.span_id and sid(p.span_id)
        )
        for p in run.phases
    ]
    return waterfall(run, {sid(name): told for name, told in spans.items()}, [sid(root) for root in roots])


def ids(found: dict[str, Any]) -> list[str]:
    return [found["ids"][at : at + ID].rstrip("-") for at in range(0, len(found["ids"]), ID)]


def phases(found: dict[str, Any]) -> list[tuple[str, int, str, int]]:
    flat, names = found["phases"], ids(found)
    return [
        (found["owners"][flat[at]], flat[at + 1] // MS, names[flat[at + 2]], flat[at + 3])
        for at in range(0, len(flat), 4)
    ]


def test_rows_come_parents_first_by_start() -> None:
    found = drawn(two_rounds(), dict(reversed(SPANS.items())))
    assert list(zip(ids(found), found["depth"], found["kinds"], strict=True)) == [
        ("root", 0, "a"),
        ("c1", 1, "c"),
        ("http", 2, "s"),
        ("t1", 1, "t"),
        ("c2", 1, "c"),
    ]
    assert found["from"] == [0, 10 * MS, 12 * MS, 220 * MS, 430 * MS]
    assert found["length"][1] == 200 * MS


def test_phases_tell_their_row_and_tile_the_run() -> None:
    found = drawn(two_rounds(), SPANS)
    assert phases(found) == [
        ("orchestration", 10, "c1", 0),
        ("prefill", 100, "c1", 0),
        ("decode", 100, "c1", 0),
        ("tool_parsing", 10, "t1", 0),
        ("tool_execution", 200, "t1", 0),
        ("orchestration", 10, "c2", 0),
        ("re_encoding", 100, "c2", 1),
        ("continue_decode", 70, "c2", 1),
        ("orchestration", 5, "root", 0),
    ]
    assert sum(ns for _, ns, _, _ in phases(found)) == 605


def test_a_call_tells_its_round_its_first_token_and_its_own_parts() -> None:
    found = drawn(two_rounds(), SPANS)
    (row, label, first, guess, parts), second = found["calls"]
    assert (ids(found)[row], label, first, guess) == ("c1", "1", 110 * MS, 0)
    assert [(found["owners"][parts[at]], parts[at + 1]) for at in (0, 2)] == [
        ("prefill", 100 * MS),
        ("decode", 100 * MS),
    ]
    assert second[3] == 1


def test_what_failed_or_was_left_says_so() -> None:
    run = drawn_run(
        "tool_execution 0 10 t1", tools=[tool("t1", 0, 10, ok=False, attempts=2), tool("t2", 0, 5, abandoned=True)]
    )
    found = drawn(run, {"root": span(None, 0, 10), "odd": span("root", 1, 2, failed=True)})
    assert {ids(found)[row] for row in found["failed"]} == {"t1", "odd"}
    assert {ids(found)[row]: note for row, note in found["notes"]} == {"t1": "2 attempts, failed", "t2": "abandoned"}


def test_spans_of_another_run_in_the_trace_are_left_out() -> None:
    other = {"other": span(None, 0, 900), "theirs": span("other", 0, 800)}
    assert set(ids(drawn(two_rounds(), SPANS | other, roots=("root", "other")))) == {"root", "c1", "http", "t1", "c2"}


def test_an_adopted_orphan_stands_below_the_root() -> None:
    found = drawn(two_rounds(), SPANS | {"t1": span("never-came", 220, 420)})
    assert ("t1", 1) in list(zip(ids(found), found["depth"], strict=True))


def test_a_parent_that_has_not_come_has_a_row_around_what_it_holds() -> None:
    found = drawn(two_rounds(), SPANS | {"step": span("workflow", 50, 90), "other": span("workflow", 70, 120)})
    at = ids(found).index("workflow")
    assert (at in found["open"], found["names"][found["name"][at]]) == (True, "not seen yet")
    assert (found["from"][at], found["length"][at]) == (50 * MS, 70 * MS)
    assert ids(found)[at + 1 : at + 3] == ["step", "other"]


def test_a_root_that_has_not_come_spans_the_run() -> None:
    found = drawn(two_rounds(), {name: told for name, told in SPANS.items() if name != "root"})
    assert (found["open"], found["length"][0]) == ([0], 605 * MS)


def test_raw_times_are_told_where_a_clock_was_put_right() -> None:
    run = two_rounds()
    shifted = f"another host's clock: shifted by {-40 * MS} ns into its caller's window"
    run.warnings = [WarningRow(code="clock_skew", text=shifted, span_id=sid("http"))]
    found = drawn(run, SPANS | {"http": span("c1", 60, 240), "below": span("http", 70, 80)})
    shown = {name: (found["from"][at] // MS, found["length"][at] // MS) for at, name in enumerate(ids(found))}
    assert (shown["http"], shown["below"]) == ((20, 180), (30, 10))
    raw = {ids(found)[row]: (start // MS, length // MS) for row, start, length in found["raw"]}
    assert raw == {"http": (60, 180), "below": (70, 10)}


def test_a_cycle_of_parents_ends() -> None:
    found = drawn(two_rounds(), {"root": span("c1", 0, 605), "c1": span("root", 10, 210)})
    assert ids(found).count("root") == 1


def test_a_chain_of_five_thousand_spans_needs_no_recursion() -> None:
    chain = {"root": span(None, 0, 605)} | {f"s{i}": span(f"s{i - 1}" if i else "root", 0, 600) for i in range(5000)}
    assert max(drawn(two_rounds(), chain)["depth"]) == 5000


def test_names_cannot_turn_the_text_around_them_and_stand_once() -> None:
    found = drawn(
        two_rounds(),
        {"root": SPANS["root"], "x": span("root", 0, 1, "a\u202eb\x1b[31m"), "y": span("root", 1, 2, "work")},
    )
    assert "a⟨U+202E⟩b␛[31m" in found["names"]
    assert found["names"].count("work") == 1

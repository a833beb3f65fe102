"""The Runs page's URL: read, complained about in words, and changed by links."""

import pytest
from django.http import QueryDict

from dashboard.pages.parts import query
from dashboard.pages.parts.columns import USUAL, chosen_columns
from dashboard.pages.parts.window import RANGES, range_of, range_that_holds, read_window
from ingest.read.values import Facet

NOW = 1_700_000_000_000_000_000  # 14 November 2023, 22:13:20 UTC
SECOND, HOUR = 10**9, 3600 * 10**9


def given(**parameters: str) -> QueryDict:
    told = QueryDict(mutable=True)
    told.update(parameters)
    return told


def read(**parameters: str) -> query.Asked:
    window, problems = read_window(given(**parameters), NOW)
    asked = query.read_filter(given(**parameters), window)
    asked.problems.extend(problems)
    return asked


def test_the_last_hour_is_the_usual_range() -> None:
    asked = read()
    assert (asked.wanted.from_unix_ns, asked.wanted.to_unix_ns, asked.problems) == (NOW - HOUR, None, [])


@pytest.mark.parametrize(
    ("parameters", "from_ns", "to_ns"),
    [
        ({"from": "5", "to": "9", "range": "24h"}, 5, 9),
        ({"from": "now-2h", "to": "now-30m"}, NOW - 2 * HOUR, NOW - HOUR // 2),
        ({"from": "-1d"}, NOW - 24 * HOUR, None),
        ({"from": "2023-11-14T22:00:00Z"}, NOW - 800 * SECOND, None),
        ({"from": "2023-11-14 23:00", "zone": "Europe/Berlin"}, NOW - 800 * SECOND, None),
        ({"range": "90m"}, NOW - HOUR * 3 // 2, None),
        ({"range": "7d"}, NOW - 168 * HOUR, None),
    ],
)
def test_ranges_as_people_and_programs_write_them(
    parameters: dict[str, str], from_ns: int, to_ns: int | None
) -> None:
    asked = read(**parameters)
    assert (asked.wanted.from_unix_ns, asked.wanted.to_unix_ns, asked.problems) == (from_ns, to_ns, [])


@pytest.mark.parametrize(
    "parameters",
    [
        {"sort": "by luck"},
        {"range": "1y"},
        {"range": "0m"},
        {"from": "yesterday"},
        {"from": "9", "to": "5"},
        {"to": "1" * 40},
    ],
)
def test_what_cannot_be_read_is_named_and_left_out(parameters: dict[str, str]) -> None:
    asked = read(**parameters)
    assert len(asked.problems) == 1
    assert asked.wanted.to_unix_ns is None


def test_a_query_that_cannot_be_read_is_marked_and_not_left_out() -> None:
    asked = read(q="service:shop wall>soon")
    assert asked.refused
    assert (asked.refused.before, asked.refused.after) == ("service:shop wall>", "soon")


@pytest.mark.parametrize("text", ["5s", "800ms", "1.5 s", "17ns"])
def test_parameters_of_one_field_become_conditions(text: str) -> None:
    asked = read(service="check out", min_wall=text, q="boom")
    assert [term.field for term in asked.query.terms] == ["", "service", "wall"]
    assert asked.refused is None
    assert read(min_wall_ns="123").text == "wall>=123ns"


def test_a_nul_in_the_text_never_reaches_the_database() -> None:
    assert read(q="a\0b").wanted.q == "ab"


def test_links_keep_everything_but_the_cursor() -> None:
    links = query.Links("/runs", given(service="shop", cursor="x", project="p", unknown="y"))
    assert links.change(q="service:shop model:tiny") == "/runs?project=p&q=service%3Ashop+model%3Atiny"
    assert links.change(q=None) == "/runs?project=p"


def test_a_chosen_value_that_no_run_has_stays_to_be_taken_away() -> None:
    links = query.Links("/runs", given(q="service:gone"))
    [(title, values)] = query.choices(
        [Facet(field="service", values=[("shop", 3)])], read(q="service:gone").query, links
    )
    assert title == "Service"
    assert [(v.value, v.runs, v.chosen, v.link) for v in values] == [
        ("shop", 3, False, "/runs?q=service%3Agone%2Cshop"),
        ("gone", 0, True, "/runs"),
    ]


def test_tokens_show_conditions_and_how_to_take_them_away() -> None:
    told = "-status:error wall>5s late"
    shown = query.tokens(read(q=told).query, query.Links("/runs", given(q=told)))
    assert [(t.field, t.sign, t.value, t.negated) for t in shown] == [
        ("status", ":", "error", True), ("wall", ">", "5s", False), ("", "", "late", False),
    ]  # fmt: skip
    assert shown[0].without == "/runs?q=wall%3E5s+late"


def test_columns_are_those_chosen_in_an_order_of_their_own() -> None:
    columns, problems = chosen_columns("ttft,ended,nonsense", priced=False)
    assert [column.key for column in columns] == ["ended", "run", "ttft"]
    assert "nonsense" in problems[0]
    assert [column.key for column in chosen_columns("", priced=True)[0]] == list(USUAL)
    assert "cost" not in [column.key for column in chosen_columns("", priced=False)[0]]


def test_the_shortest_range_that_still_holds_a_moment() -> None:
    assert range_that_holds(NOW - 2 * HOUR, NOW) is RANGES[2]
    assert range_that_holds(NOW - 10_000 * HOUR, NOW) is None


def test_a_chart_has_as_many_steps_as_can_be_told_apart() -> None:
    for key in ("15m", "1h", "6h", "24h", "3d", "30d", "365d"):
        found = range_of(key)
        assert found
        assert 24 <= found.seconds / found.step_s <= 365

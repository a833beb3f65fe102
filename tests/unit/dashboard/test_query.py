"""The Runs page's URL: read, complained about in words, and changed by links."""

import pytest

from dashboard.pages.parts import query
from dashboard.pages.parts.window import RANGES, range_that_holds, read_window
from ingest.read.values import Facet

NOW = 1_700_000_000_000_000_000
HOUR = 3600 * 10**9


def read(**parameters: str) -> tuple[query.RunFilter, list[str]]:
    window, problems = read_window(parameters, NOW)
    wanted, more = query.read_filter(parameters, window)
    return wanted, problems + more


def test_the_last_hour_is_the_usual_range() -> None:
    wanted, problems = read()
    assert (wanted.from_unix_ns, wanted.to_unix_ns, problems) == (NOW - HOUR, None, [])


def test_from_and_to_win_over_a_named_range() -> None:
    wanted, _ = read(**{"from": "5", "to": "9", "range": "24h"})
    assert (wanted.from_unix_ns, wanted.to_unix_ns) == (5, 9)


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("5s", 5 * 10**9),
        ("5", 5 * 10**9),
        ("800ms", 800 * 10**6),
        ("2min", 120 * 10**9),
        ("1.5 s", 1_500_000_000),
        ("1h", HOUR),
        ("17ns", 17),
    ],
)
def test_a_least_wall_is_written_as_people_write_times(text: str, ns: int) -> None:
    assert read(min_wall=text)[0].min_wall_ns == ns


def test_the_api_s_own_parameter_works_too() -> None:
    assert read(min_wall_ns="123")[0].min_wall_ns == 123


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_wall": "soon"},
        {"min_wall": "-1s"},
        {"status": "broken"},
        {"sort": "by luck"},
        {"range": "1y"},
        {"from": "yesterday"},
        {"to": "1" * 40},
    ],
)
def test_what_cannot_be_read_is_named_and_left_out(parameters: dict[str, str]) -> None:
    wanted, problems = read(**parameters)
    assert len(problems) == 1
    assert next(iter(parameters.values()))[:20] in problems[0]
    assert wanted.min_wall_ns is None
    assert wanted.status is None


def test_a_nul_in_the_text_never_reaches_the_database() -> None:
    assert read(q="a\0b")[0].q == "ab"


def test_links_keep_everything_but_the_cursor() -> None:
    links = query.Links("/runs", {"service": "shop", "cursor": "x", "project": "p", "unknown": "y"})
    assert links.change(model="tiny") == "/runs?project=p&service=shop&model=tiny"
    assert links.change(service=None) == "/runs?project=p"


def test_a_chosen_value_that_no_run_has_stays_to_be_taken_away() -> None:
    wanted, _ = read(service="gone")
    links = query.Links("/runs", {"service": "gone"})
    [(title, values)] = query.choices([Facet(field="service", values=[("shop", 3)])], wanted, links)
    assert title == "Service"
    assert [(v.value, v.runs, v.chosen, v.link) for v in values] == [
        ("shop", 3, False, "/runs?service=shop"),
        ("gone", 0, True, "/runs"),
    ]


def test_tokens_show_filters_and_how_to_take_them_away() -> None:
    wanted, _ = read(status="error", min_wall="5s")
    shown = query.tokens(wanted, query.Links("/runs", {"status": "error", "min_wall": "5s"}))
    assert [(t.field, t.value.replace("\u202f", " "), t.without) for t in shown] == [
        ("status", "failed", "/runs?min_wall=5s"),
        ("wall", "5.00 s", "/runs?status=error"),
    ]


def test_the_shortest_range_that_still_holds_a_moment() -> None:
    assert range_that_holds(NOW - 2 * HOUR, NOW) is RANGES[2]
    assert range_that_holds(NOW - 100 * HOUR, NOW) is None

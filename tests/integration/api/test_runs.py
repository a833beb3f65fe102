"""The runs list of the API: filters, orders, and pages without a gap or a repeat."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest
from django.test import Client

from ingest.models import Project, Run
from tests.integration.access.stored import SECOND_NS, SECRET_WORD, store_run

pytestmark = pytest.mark.django_db

RUNS = "/api/v1/runs"


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


def listed(**query: Any) -> list[str]:
    response = Client().get(RUNS, {key.rstrip("_"): value for key, value in query.items()})
    assert response.status_code == 200, response.content
    return [run["run_id"] for run in response.json()["runs"]]


def walked(limit: int, **query: Any) -> list[str]:
    """All pages, one after the other."""
    found: list[str] = []
    while True:
        answer = Client().get(RUNS, query | {"limit": limit}).json()
        found += [run["run_id"] for run in answer["runs"]]
        if answer["next_cursor"] is None:
            return found
        query["cursor"] = answer["next_cursor"]


def test_none_is_an_empty_page(project: Project) -> None:
    assert Client().get(RUNS).json() == {"runs": [], "next_cursor": None, "looked_from_unix_ns": None}


@pytest.mark.parametrize("sort", ["newest", "slowest", "ttft", "tokens"])
@pytest.mark.parametrize("limit", [1, 2, 3, 11])
def test_pages_have_no_gap_and_no_repeat(project: Project, sort: str, limit: int) -> None:
    end_ns = time.time_ns() - SECOND_NS
    made = [store_run(project, end_ns, wall_ns=SECOND_NS * (1 + number % 3)) for number in range(11)]
    found = walked(limit, sort=sort)
    assert sorted(found) == sorted(made)
    assert found == listed(sort=sort, limit=500)


def test_runs_that_come_while_paging_repeat_nothing(project: Project) -> None:
    now_ns = time.time_ns()
    made = [store_run(project, now_ns - (9 - number) * SECOND_NS) for number in range(6)]
    first = Client().get(RUNS, {"limit": 3}).json()
    store_run(project, now_ns)
    second = Client().get(RUNS, {"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [run["run_id"] for run in first["runs"] + second["runs"]] == made[::-1]


def test_the_window_holds_what_ends_in_it(project: Project) -> None:
    now_ns = time.time_ns()
    early, late = store_run(project, now_ns - 60 * SECOND_NS), store_run(project, now_ns - 30 * SECOND_NS)
    border = now_ns - 30 * SECOND_NS
    assert listed(from_=border) == [late]
    assert listed(to=border) == [early]
    assert listed(from_=border + 1) == []
    assert listed(from_=-(2**63), to=2**63 - 1) == [late, early]


def test_each_filter_narrows(project: Project) -> None:
    one, other = store_run(project), store_run(project, wall_ns=9 * SECOND_NS)
    trace_id, _, root = other.partition("-")
    Run.objects.filter(trace_id=bytes.fromhex(trace_id), root_span_id=bytes.fromhex(root)).update(
        service="checkout", version="2.1", environment="staging", agent="planner", session_id="s-1", user_id="u-1",
        model_names=["big", "small"], tool_names="search\x1fit's", failed=True, error="timed out at 100%",
    )  # fmt: skip
    for query in (
        {"service": "checkout"}, {"version": "2.1"}, {"environment": "staging"}, {"agent": "planner"},
        {"session": "s-1"}, {"user": "u-1"}, {"model": "small"}, {"tool": "it's"}, {"status": "error"},
        {"min_wall_ns": 9 * SECOND_NS},
        {"q": "CHECK"}, {"q": "100%"}, {"q": trace_id[:12]}, {"service": "checkout", "status": "error", "q": "time"},
    ):  # fmt: skip
        assert listed(**query) == [other], query
    for query in ({"service": "Checkout"}, {"q": "1%0"}, {"q": "_"}, {"tool": "sea"}, {"status": "open"}, {"q": "\\"}):
        assert listed(**query) == [], query
    assert listed(status="ok") == listed(q=SECRET_WORD, service=SECRET_WORD) == [one]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"sort": "prettiest"}, "newest, slowest"),
        ({"status": "late"}, "ok, error, open"),
        ({"cursor": "!!!"}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(b"[Infinity, '', '']").decode()}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(json.dumps([float("inf"), "00", "00"]).encode()).decode()}, "cursor"),
        ({"cursor": base64.urlsafe_b64encode(b"[" * 9000).decode()}, "cursor"),
        ({"cursor": "\x00"}, "cursor"),
        ({"cursor": "é"}, "cursor"),
        ({"limit": 0}, "limit"),
        ({"limit": 9999}, "limit"),
        ({"from": "yesterday"}, "from"),
        ({"to": 2**63}, "to"),
        ({"min_wall_ns": "1.5"}, "min_wall_ns"),
        ({"q": "x" * 5000}, "character 4001: longer than 4000 characters"),
    ],
)
def test_a_filter_that_cannot_be_read_is_422_in_words(project: Project, query: dict[str, Any], said: str) -> None:
    store_run(project)
    response = Client().get(RUNS, query)
    assert response.status_code == 422
    assert said in json.dumps(response.json())


@pytest.mark.parametrize("name", ["service", "q", "model", "tool", "session", "user", "agent", "version"])
@pytest.mark.parametrize("value", ["\x00", "'; DROP TABLE ingest_run; --", "%s", "x" * 4000, "\ud83d\ude00"])
def test_strange_text_finds_nothing_and_breaks_nothing(project: Project, name: str, value: str) -> None:
    store_run(project)
    text = value.encode("utf-16", "surrogatepass").decode("utf-16")
    assert listed(**{name: text}) == []


def test_a_cursor_of_another_order_is_a_place_all_the_same(project: Project) -> None:
    for _ in range(3):
        store_run(project)
    cursor = Client().get(RUNS, {"limit": 1}).json()["next_cursor"]
    assert Client().get(RUNS, {"limit": 1, "sort": "slowest", "cursor": cursor}).status_code == 200

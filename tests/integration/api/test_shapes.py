"""What the API says of a run and a trace: the contract's fields, exact sums, strings for times, null for unknown."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from ingest.models import Project
from tests.integration.access.stored import store_run

pytestmark = pytest.mark.django_db

STAGES = ["prefill", "decode", "tool_parsing", "tool_execution", "re_encoding", "continue_decode"]
OUTSIDE = ["queue", "transport", "model_unsplit", "orchestration"]
SOURCES = {"engine", "client", "derived", "estimated", "unknown", None}
RUN = [
    "run_id",
    "trace_id",
    "session_id",
    "service",
    "agent",
    "status",
    "provisional",
    "start_unix_ns",
    "wall_ns",
    "stages_ns",
    "outside_ns",
    "busy_ns",
    "sources",
    "sources_ns",
    "version",
    "environment",
    "ttft_ns",
    "first_token_ns",
    "rounds",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "calls",
    "tools",
    "warnings",
]
CALL = [
    "span_id",
    "model",
    "engine",
    "start_unix_ns",
    "wall_ns",
    "queue_ns",
    "prefill_ns",
    "decode_ns",
    "ttft_ns",
    "tpot_ns",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "carries_tool_results",
    "source",
    "attempts",
    "error",
]
TOOL = ["span_id", "name", "start_unix_ns", "wall_ns", "ok", "error", "round", "transport"]


@pytest.fixture
def run_id(db: None) -> str:
    return store_run(Project.objects.create(slug="alpha", name="Alpha"))


@pytest.fixture
def run(run_id: str) -> dict[str, Any]:
    return dict(Client().get(f"/api/v1/runs/{run_id}").json())


def test_a_run_has_the_fields_of_the_contract(run: dict[str, Any]) -> None:
    assert set(RUN) <= run.keys()
    assert set(CALL) <= run["calls"][0].keys()
    assert set(TOOL) <= run["tools"][0].keys()
    assert list(run["stages_ns"]) == STAGES
    assert list(run["outside_ns"]) == OUTSIDE
    assert set(run["sources"].values()) <= SOURCES


def test_its_times_add_up_exactly(run: dict[str, Any]) -> None:
    assert sum(run["stages_ns"].values()) + sum(run["outside_ns"].values()) == run["wall_ns"]
    assert sum(phase["end_ns"] - phase["start_ns"] for phase in run["phases"]) == run["wall_ns"]
    for stage, parts in run["sources_ns"].items():
        assert sum(parts.values()) == run["stages_ns"][stage]


def test_times_are_strings_and_durations_integers(run: dict[str, Any]) -> None:
    def look(value: Any, name: str) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                look(inner, name if name.endswith("_ns") and not key.endswith("_ns") else key)
        elif isinstance(value, list):
            for inner in value:
                look(inner, name)
        elif value is not None and name.endswith("_unix_ns"):
            assert isinstance(value, str), name
            int(value)
        elif value is not None and name.endswith("_ns"):
            assert isinstance(value, int), name

    look(run, "run")


def test_unknown_is_null_and_never_zero(run: dict[str, Any]) -> None:
    for name in ("ttft_ns", "first_token_ns", "input_tokens", "cached_tokens", "output_tokens", "session_id", "engine"):
        assert run[name] is None, name
    for name in ("queue_ns", "prefill_ns", "ttft_ns", "tpot_ns", "input_tokens", "streamed", "error"):
        assert run["calls"][0][name] is None, name
    assert run["tools"][0]["transport"] is None


def test_a_list_says_the_same_as_the_run(run: dict[str, Any]) -> None:
    (summary,) = Client().get("/api/v1/runs").json()["runs"]
    assert summary == {key: run[key] for key in summary}


def test_a_trace_is_given_as_it_was_stored(run: dict[str, Any]) -> None:
    trace = Client().get(f"/api/v1/traces/{run['trace_id']}").json()
    assert trace["runs"] == [run["run_id"]]
    (span,) = trace["spans"]
    assert span["resource"] == {"service.name": run["service"]}
    assert span["start_unix_ns"] == run["start_unix_ns"]
    (small,) = Client().get(f"/api/v1/traces/{run['trace_id']}?attributes=0").json()["spans"]
    assert small["attributes"] is small["events"] is small["resource"] is None


def test_ids_may_be_in_upper_case(run_id: str) -> None:
    assert Client().get(f"/api/v1/runs/{run_id.upper()}").json()["run_id"] == run_id
    assert Client().get(f"/api/v1/traces/{run_id[:32].upper()}").status_code == 200


@pytest.mark.parametrize(
    "path", ["runs/unknown", f"runs/{'0' * 32}-{'0' * 16}", "traces/unknown", f"traces/{'0' * 32}"]
)
def test_what_is_not_there_is_404_with_a_hint(run_id: str, path: str) -> None:
    response = Client().get(f"/api/v1/{path}")
    assert response.status_code == 404
    assert "hex digits" in response.json()["detail"]


def test_the_description_names_every_route_and_parameter(run_id: str) -> None:
    told = Client().get("/api/v1/openapi.json").json()
    assert {"/api/v1/runs", "/api/v1/runs/{run_id}", "/api/v1/traces/{trace_id}"} <= told["paths"].keys()
    names = {parameter["name"] for parameter in told["paths"]["/api/v1/runs"]["get"]["parameters"]}
    wanted = "from to service version environment agent model tool session user status min_wall_ns q sort cursor"
    assert set(wanted.split()) <= names
    assert Client().get("/api/v1/docs").status_code == 200

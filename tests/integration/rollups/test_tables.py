"""CSV and API tell the same, to the digit, in zones with half-hour offsets and while clocks change."""

from __future__ import annotations

import csv
import io
import random
from typing import Any

import pytest
from django.test import Client

from ingest.models import Project
from ingest.rollups.folding import fold
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, utc

pytestmark = pytest.mark.django_db

NIGHT = utc(2025, 10, 25, 22, 0)  # the night in which Berlin's clocks go back
HOURS = 3600 * SECOND_NS
ZONES = ("Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Australia/Lord_Howe")


@pytest.fixture
def project(db: None) -> Project:
    project = Project.objects.create(slug="alpha", name="Alpha", zone="America/St_Johns")
    chance = random.Random(11)
    runs = [drawn(chance, number, NIGHT + chance.randint(-30 * HOURS, 40 * HOURS)) for number in range(60)]
    runs[0] = drawn(chance, 0, NIGHT, service='=HYPERLINK("x")')
    keep(project, runs)
    fold()
    return project


def table(path: str, query: dict[str, Any]) -> list[dict[str, str]]:
    response = Client().get(f"/api/v1/{path}", query)
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(response.content.decode())))


def at(values: Any, name: str) -> str:
    """A value by its dotted name, as CSV writes it."""
    for part in name.split("."):
        values = values[part]
    return "" if values is None else ",".join(values) if isinstance(values, list) else str(values)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("group_by", ["service", "model", None])
def test_a_summary_is_the_same_as_csv(project: Project, zone: str, group_by: str | None) -> None:
    query: dict[str, Any] = {"from": NIGHT - 31 * HOURS, "to": NIGHT + 41 * HOURS + 7, "step": "day", "zone": zone}
    query |= {"group_by": group_by} if group_by else {}
    told = Client().get("/api/v1/summary", query).json()
    wanted = []
    for part in (told, *told["steps"]):
        head = [("total", "", part["total"])] if part["total"] else []
        for of, group, figures in [*head, *(("group", g["value"] or "", g["figures"]) for g in part["groups"])]:
            wanted.append((part["from_unix_ns"], part["to_unix_ns"], of, group, figures))
    lines = table("summary.csv", query)
    assert len(lines) == len(wanted) > 4
    for line, (from_ns, to_ns, of, group, figures) in zip(lines, wanted, strict=True):
        assert (line.pop("from_unix_ns"), line.pop("to_unix_ns"), line.pop("of")) == (from_ns, to_ns, of)
        assert line.pop("group").lstrip("'") == group
        bands = {name: value for name, value in line.items() if ".completion." in name}
        assert sum(int(value) for name, value in bands.items() if name.endswith(".runs")) == sum(
            band["runs"] for band in figures["runs"]["completion"]
        )
        for name, value in line.items():
            if name not in bands and ".errors." not in name:
                assert value == at(figures, name), name


def test_runs_are_the_same_as_csv_and_go_on_after_a_cursor(project: Project) -> None:
    told = Client().get("/api/v1/runs", {"limit": 50}).json()
    response = Client().get("/api/v1/runs.csv", {"limit": 50})
    assert response["X-Next-Cursor"] == told["next_cursor"]
    lines = table("runs.csv", {"limit": 50}) + table("runs.csv", {"limit": 50, "cursor": told["next_cursor"]})
    assert len(lines) == 60
    for line, run in zip(lines, told["runs"], strict=False):
        for name in ("run_id", "wall_ns", "stages_ns.prefill", "outside_ns.orchestration", "ttft_ns", "tool_names"):
            assert line[name] == at(run, name)


def test_a_spreadsheet_computes_nothing(project: Project) -> None:
    (line,) = [line for line in table("runs.csv", {"limit": 500}) if "HYPERLINK" in line["service"]]
    assert line["service"].startswith("'=")


def test_the_chain_adds_up_to_the_wall_time(project: Project) -> None:
    query = {"from": NIGHT - 31 * HOURS, "to": NIGHT + 41 * HOURS}
    runs = Client().get("/api/v1/summary", query).json()["total"]["runs"]
    share = runs["chain"].pop("model_share")
    assert sum(runs["chain"].values()) == runs["wall"]["sum_ns"]
    assert 0 < share < 1

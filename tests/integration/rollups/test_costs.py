"""What calls, runs and ranges cost agrees to the last digit, however it is asked and wherever it is counted."""

from __future__ import annotations

import csv
import io
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import Q
from django.test import Client

from ingest.models import Call, Project, Run
from ingest.price_list import parse
from ingest.prices import write_table
from ingest.read import summary
from ingest.read.runs import RunFilter
from ingest.read.summary import GROUPS, Question, summarise
from ingest.rollups.folding import fold
from ingest.rows import AS_ITS_RUN
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, utc

pytestmark = pytest.mark.django_db

NIGHT = utc(2025, 10, 25, 22, 0)  # midnight in Berlin, of the day on which its clocks go back
HOURS = 3600 * SECOND_NS
WHOLE = {"from": NIGHT - 40 * HOURS, "to": NIGHT + 50 * HOURS}
RANGES = {
    "whole": (NIGHT - 40 * HOURS, NIGHT + 50 * HOURS),
    "to the nanosecond": (NIGHT - 20 * HOURS + 123, NIGHT + 9 * HOURS + 999_999_999),
    "around the change": (NIGHT - 7, NIGHT + 100 * SECOND_NS + 7),
}
PRICES = [
    {"model": "small", "input_per_million": "0.15", "cached_input_per_million": "0.075", "output_per_million": "0.6"},
    {"model": "small", "from": "2025-10-26", "input_per_million": "0.1", "output_per_million": "0.400001"},
    {"model": "l*", "from": "2025-10-25", "input_per_million": "3", "cached_input_per_million": "0.3",
     "output_per_million": "15"},
]  # fmt: skip


@pytest.fixture
def project(db: None) -> Project:
    """150 runs around a change of prices, some folded, some not; half of their calls tell no tokens, and not all of
    the models have a price all the time."""
    project = Project.objects.create(slug="alpha", name="Alpha", zone="Europe/Berlin")
    chance = random.Random(5)
    ends = [NIGHT + chance.randint(-30 * HOURS, 40 * HOURS) for _ in range(100)]
    ends += [NIGHT + chance.randint(-60 * SECOND_NS, 60 * SECOND_NS) for _ in range(50)]
    runs = [drawn(chance, number, end_ns) for number, end_ns in enumerate(ends)]
    keep(project, runs[:100], batch=30)
    fold(2)
    fold()
    keep(project, runs[100:])
    return project


@pytest.fixture
def priced(project: Project) -> Project:
    write_table(project, parse("EUR", PRICES))
    return project


def get(path: str, **query: Any) -> Any:
    response = Client().get(f"/api/v1/{path}", query)
    assert response.status_code == 200, response.content
    return response.json()


@pytest.mark.parametrize("of", RANGES)
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Asia/Kolkata"])
@pytest.mark.parametrize("group_by", [None, "model"])
def test_rollups_and_rows_cost_the_same(
    monkeypatch: pytest.MonkeyPatch, priced: Project, of: str, zone: str, group_by: str | None
) -> None:
    scope = Scope(project_id=priced.pk)
    wanted = RunFilter(from_unix_ns=RANGES[of][0], to_unix_ns=RANGES[of][1])
    for step in (None, "day", "hour"):
        asked = Question(wanted=wanted, zone=zone, step=step, group_by=group_by)
        usual = summarise(scope, asked, NIGHT)
        with monkeypatch.context() as patched:
            patched.setattr(summary.Reading, "from_rollups", lambda *_: False)
            rows = summarise(scope, asked, NIGHT)
        assert (usual.made_from, rows.made_from) == ("rollups", "rows")
        assert replace(usual, made_from="", made_from_by={}) == replace(rows, made_from="", made_from_by={})
        figures = [group.figures for group in usual.groups] or [usual.total]
        assert sum(one.calls.cost_unknown_calls for one in figures if one and one.calls) > 0
        if of == "whole":
            assert any(one.calls.cost_at_most_calls for one in figures if one and one.calls)


def test_calls_runs_lists_and_summaries_agree(priced: Project) -> None:
    listed = get("runs", **WHOLE, limit=500)["runs"]
    assert len(listed) == 150
    whole = [get(f"runs/{run['run_id']}") for run in listed]
    for run, in_list in zip(whole, listed, strict=True):
        assert {name: run[name] for name in in_list} == in_list
        costs = [call["cost"] for call in run["calls"]]
        assert run["cost_unknown_calls"] == costs.count(None)
        known = [Decimal(cost) for cost in costs if cost is not None]
        assert (run["cost"] is None) == (not known)
        assert Decimal(run["cost"] or 0) == sum(known)
        assert run["currency"] == "EUR"
    # Drawn calls may end a little after their runs, so the range of all is wider.
    total = get("summary", **(WHOLE | {"to": NIGHT + 100 * HOURS}))
    assert total["currency"] == "EUR"
    calls = total["total"]["calls"]
    assert Decimal(calls["cost"]) == sum(Decimal(run["cost"] or 0) for run in whole) > 0
    for name in ("cost_unknown_calls", "cost_at_most_calls"):
        assert calls[name] == sum(run[name] for run in whole) > 0
    lines = csv.DictReader(io.StringIO(Client().get("/api/v1/runs.csv", WHOLE | {"limit": 500}).content.decode()))
    assert [line["cost"] for line in lines] == [run["cost"] or "" for run in listed]


@pytest.mark.parametrize("group_by", [name for name in GROUPS if name != "tool"])
def test_groups_and_steps_add_up(priced: Project, group_by: str) -> None:
    total = get("summary", **WHOLE)["total"]["calls"]
    told = get("summary", **WHOLE, group_by=group_by, step="3600", zone="Asia/Kolkata")
    for groups in (told["groups"], [group for step in told["steps"] for group in step["groups"]]):
        found = [group["figures"]["calls"] for group in groups]
        assert sum(Decimal(one["cost"] or 0) for one in found) == Decimal(total["cost"])
        for name in ("cost_unknown_calls", "cost_at_most_calls"):
            assert sum(one[name] for one in found) == total[name]


def test_a_price_changes_at_midnight_of_the_projects_zone(priced: Project) -> None:
    before = get("summary", **{"from": NIGHT - 40 * HOURS, "to": NIGHT}, model="small", of="calls")["total"]["calls"]
    after = get("summary", **{"from": NIGHT, "to": NIGHT + 100 * HOURS}, model="small", of="calls")["total"]["calls"]
    small = Run.objects.filter(project_id=priced.pk, model="small").values("trace_id")
    tells = Q(model="small") | Q(model=AS_ITS_RUN, trace_id__in=small)
    tells &= Q(project_id=priced.pk, input_tokens__isnull=False)
    picos = [0, 0]
    for call in Call.objects.filter(tells):
        late = call.end_unix_ns >= NIGHT
        cached = call.cached_tokens or 0
        in_, cached_in, out = (100_000, 100_000, 400_001) if late else (150_000, 75_000, 600_000)
        picos[late] += (call.input_tokens - cached) * in_ + cached * cached_in + call.output_tokens * out
    assert [Decimal(before["cost"]) * 10**12, Decimal(after["cost"]) * 10**12] == picos
    assert after["cost_at_most_calls"] == 0  # cached input costs as much as other


def test_without_prices_no_cost_is_known(project: Project) -> None:
    told = get("summary", **WHOLE)
    calls = told["total"]["calls"]
    assert (told["currency"], calls["cost"], calls["cost_unknown_calls"]) == (None, None, calls["count"])
    run = get(f"runs/{get('runs', **WHOLE)['runs'][0]['run_id']}")
    assert (run["currency"], run["cost"]) == (None, None)
    assert {call["cost"] for call in run["calls"]} <= {None}


def test_prices_change_what_was(priced: Project) -> None:
    was = Decimal(get("summary", **WHOLE, model="large")["total"]["calls"]["cost"])
    doubled = [PRICES[2] | {"input_per_million": "6", "cached_input_per_million": "0.6", "output_per_million": "30"}]
    write_table(priced, parse("EUR", doubled))
    assert Decimal(get("summary", **WHOLE, model="large")["total"]["calls"]["cost"]) == 2 * was


def test_calls_beyond_the_bound_of_keys_are_of_unknown_cost(priced: Project, settings: Any) -> None:
    settings.SIXSTAGE_ROLLUP_KEYS = 3
    chance = random.Random(6)
    later = NIGHT + 24 * 20 * HOURS
    keep(priced, [drawn(chance, 1_000 + number, later + number * SECOND_NS) for number in range(60)])
    fold()
    fold()
    told = get("summary", **{"from": later - 48 * HOURS, "to": later + 48 * HOURS}, group_by="service")
    other = [group["figures"]["calls"] for group in told["groups"] if group["is_other"]]
    assert other
    assert other[0]["cost"] is None
    assert other[0]["cost_unknown_calls"] == other[0]["count"] > 0

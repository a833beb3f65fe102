"""A query finds what looking at every run finds; keys of rollups and rows agree on it; completion counts right."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from dashboard.models import Membership, Role, SavedView
from ingest.costs import call_cost
from ingest.models import Call, Project, Run
from ingest.price_list import parse as parse_prices
from ingest.prices import read_pricing, write_table
from ingest.read import summary
from ingest.read.completing import complete
from ingest.read.facets import count_with, read_facets
from ingest.read.runs import BadFilter, RunFilter, find_runs
from ingest.read.summary import Question, summarise
from ingest.rollups.errors import error_kind
from ingest.rollups.folding import fold_all
from ingest.rows import AS_ITS_RUN, tool_names
from ingest.scope import Scope
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep, utc

pytestmark = pytest.mark.django_db

NOW = utc(2025, 11, 20, 12, 34)
HOURS = 3600 * SECOND_NS
WEEK = RunFilter(from_unix_ns=NOW - 168 * HOURS, to_unix_ns=NOW)


def models(run: Run) -> list[str]:
    """Those of its calls; a row tells them where they are not all its own."""
    return [run.model] * (run.model is not None) if run.model_names is None else list(run.model_names)


ALIKE: dict[str, Callable[[Run], bool]] = {
    "service:shop": lambda run: run.service == "shop",
    "service:s*,desk": lambda run: run.service is not None and (run.service[0] == "s" or run.service == "desk"),
    "-service:shop": lambda run: run.service != "shop",
    "service:*": lambda run: run.service is not None,
    "-version:*": lambda run: run.version is None,
    "model:l*": lambda run: any(name.startswith("l") for name in models(run)),
    "-model:large": lambda run: "large" not in models(run),
    "tool:search": lambda run: "search" in tool_names(run.tool_names),
    "tool:se*,pay": lambda run: any(name.startswith("se") or name == "pay" for name in tool_names(run.tool_names)),
    "status:error": lambda run: run.failed,
    "-status:error service:shop": lambda run: not run.failed and run.service == "shop",
    "error:timeout": lambda run: run.error is not None and error_kind(run.error) == "timeout",
    "error:other,server": lambda run: run.error is not None and error_kind(run.error) in ("other", "server"),
    'error:"timed"': lambda run: "timed" in (run.error or ""),
    "error:*": lambda run: run.error is not None,
    "wall>5s": lambda run: run.wall_ns > 5 * 10**9,
    "wall:1s..5s": lambda run: 10**9 <= run.wall_ns <= 5 * 10**9,
    "stage.prefill>30%": lambda run: run.prefill_ns * 100 > 30 * run.wall_ns,
    "stage.decode<=12.5%": lambda run: run.decode_ns * 8 <= run.wall_ns and run.wall_ns > 0,
    "-orchestration>1ms": lambda run: run.orchestration_ns <= 10**6,
    "ttft>=0.5": lambda run: run.ttft_ns is not None and run.ttft_ns >= 5 * 10**8,
    "tokens.in>1k": lambda run: run.input_tokens is not None and run.input_tokens > 1000,
    "cache<50%": lambda run: bool(
        run.input_tokens and run.cached_tokens is not None and run.cached_tokens * 2 < run.input_tokens
    ),
    "rounds:1,3": lambda run: run.rounds in (1, 3),
    "costliest:decode": lambda run: run.wall_ns > 0 and run.decode_ns == max(_owners(run)),
    "session:s-1 -wall<1ms": lambda run: run.session_id == "s-1" and run.wall_ns >= 10**6,
    "boom": lambda run: "boom" in (run.error or "").lower() or "boom" in (run.name or "").lower(),
    "-boom": lambda run: "boom" not in (run.error or "").lower() and "boom" not in (run.name or "").lower(),
}


def _owners(run: Run) -> list[int]:
    names = ("prefill", "decode", "tool_parsing", "tool_execution", "re_encoding", "continue_decode", "queue",
             "transport", "model_unsplit", "orchestration")  # fmt: skip
    return [getattr(run, f"{name}_ns") for name in names]


@pytest.fixture(scope="module")
def ends() -> list[int]:
    chance = random.Random(5)
    return [NOW - 1 - chance.randrange(150 * HOURS) for _ in range(120)]


@pytest.fixture
def project(db: None, ends: list[int]) -> Project:
    project = Project.objects.create(slug="alpha", name="Alpha", zone="Europe/Berlin")
    chance = random.Random(6)
    keep(project, [drawn(chance, number, end_ns) for number, end_ns in enumerate(ends)])
    fold_all()
    return project


def found(project: Project, text: str, **more: object) -> set[str]:
    page = find_runs(Scope(project_id=project.pk), RunFilter(q=text, limit=500, **more), NOW)  # type: ignore[arg-type]
    return {run.run_id for run in page.runs}


def looked_at(fits: Callable[[Run], bool]) -> set[str]:
    return {f"{bytes(r.trace_id).hex()}-{bytes(r.root_span_id).hex()}" for r in Run.objects.all() if fits(r)}


def test_it_finds_what_looking_at_every_run_finds(project: Project) -> None:
    everything = looked_at(lambda _: True)
    telling = 0
    for text, fits in ALIKE.items():
        assert found(project, text) == looked_at(fits), text
        telling += 0 < len(found(project, text)) < len(everything)
    assert telling > len(ALIKE) * 0.8  # or the runs drawn would not test much


def test_a_trace_is_found_by_its_id_and_by_its_beginning(project: Project) -> None:
    run = Run.objects.first()
    assert run
    trace = bytes(run.trace_id).hex()
    assert found(project, f"trace:{trace}") == found(project, f"trace:{trace.upper()}") >= {
        f"{trace}-{bytes(run.root_span_id).hex()}"
    }
    assert found(project, f"trace:{trace[:30]}") >= found(project, f"trace:{trace}")


def test_cost_is_that_of_the_run_s_calls_by_the_price_of_their_time(project: Project) -> None:
    with pytest.raises(BadFilter, match="no prices"):
        found(project, "cost>0")
    prices = [
        {"model": "*", "input_per_million": "1", "output_per_million": "2"},
        {"model": "lar*", "from": "2025-11-17", "input_per_million": "3", "cached_input_per_million": "1",
         "output_per_million": "9"},
        {"model": "small", "from": "2025-11-18"},
    ]  # fmt: skip
    write_table(project, parse_prices("EUR", prices))
    pricing = read_pricing(Scope(project_id=project.pk))
    costs: dict[bytes, list[int]] = {}
    of_run = {bytes(run.trace_id): run.model for run in Run.objects.all()}
    for call in Call.objects.all():
        model = of_run[bytes(call.trace_id)] if call.model == AS_ITS_RUN else call.model
        cost = call_cost(
            pricing.rates(model, call.end_unix_ns), call.input_tokens, call.cached_tokens, call.output_tokens
        )
        if cost.known:
            costs.setdefault(bytes(call.trace_id), []).append(cost.pico)
    sums = sorted(map(sum, costs.values()))
    middle = sums[len(sums) // 2]
    bound = f"{middle // 10**12}.{middle % 10**12:012}"
    assert len(found(project, f"cost>={bound}")) == sum(one >= middle for one in sums)
    assert len(found(project, "cost:*")) == len(sums)


@pytest.mark.parametrize(
    ("text", "made_from"),
    [
        ("service:shop", {"runs": "rollups", "calls": "rollups", "tools": "rollups"}),
        ("service:s*,desk -version:2", {"runs": "rollups", "calls": "rollups", "tools": "rollups"}),
        ("model:l*", {"runs": "rollups", "calls": "rollups", "tools": "rows"}),
        ("-model:large status:ok", {"runs": "rollups", "calls": "rows", "tools": "rows"}),
        ("tool:search", {"runs": "rows", "calls": "rows", "tools": "rows"}),
        ("stage.prefill>10% service:shop", {"runs": "rows", "calls": "rows", "tools": "rows"}),
    ],
)
def test_rollups_and_rows_give_the_same_digits(
    project: Project, monkeypatch: pytest.MonkeyPatch, text: str, made_from: dict[str, str]
) -> None:
    asked = Question(wanted=replace(WEEK, q=text), step="hour", group_by="status")
    usual = summarise(Scope(project_id=project.pk), asked, NOW)
    assert usual.made_from_by == made_from
    assert usual.runs == len(found(project, text))
    monkeypatch.setattr(summary.Reading, "from_rollups", lambda *_: False)
    rows = summarise(Scope(project_id=project.pk), asked, NOW)
    assert replace(usual, made_from="", made_from_by={}) == replace(rows, made_from="", made_from_by={})


def test_a_query_and_the_field_of_its_own_are_the_same_question(project: Project) -> None:
    scope = Scope(project_id=project.pk)
    for name, value in (("service", "shop"), ("model", "large"), ("tool", "search"), ("status", "error")):
        by_field = summarise(scope, Question(wanted=replace(WEEK, **{name: value})), NOW)
        assert summarise(scope, Question(wanted=replace(WEEK, q=f"{name}:{value}")), NOW) == by_field


def test_facets_count_what_the_query_finds_but_their_own_field_stays_open(project: Project) -> None:
    scope = Scope(project_id=project.pk)
    wanted = replace(WEEK, q="service:shop tool:search")
    told = {facet.field: dict(facet.values) for facet in read_facets(scope, wanted, NOW).facets}
    assert told["service"]["shop"] == len(found(project, "service:shop tool:search"))
    assert told["service"]["desk"] == len(found(project, "service:desk tool:search"))
    assert sum(told["status"].values()) == told["service"]["shop"]
    assert told["costliest"]
    assert read_facets(scope, WEEK, NOW, budget_s=0).looked_from_unix_ns == NOW
    assert count_with(scope, WEEK, ["wall>1s"], NOW, 0) is None


def test_completion_offers_real_values_with_what_each_would_leave(project: Project) -> None:
    scope = Scope(project_id=project.pk)
    offered = complete(scope, WEEK, "status:error service:", 21, NOW)
    assert {c.insert: c.runs for c in offered.choices}["shop"] == len(found(project, "status:error service:shop"))
    assert (offered.start, offered.end) == (21, 21)
    [choice] = [c for c in complete(scope, WEEK, "stage.dec", 9, NOW).choices if c.insert == "stage.decode>20%"]
    assert (choice.runs, choice.among) == (len(found(project, "stage.decode>20%")), len(found(project, "")))
    assert "service:shop" in [c.insert for c in complete(scope, WEEK, "sho", 3, NOW).choices]


def test_the_api_points_at_the_character(project: Project, client: Client) -> None:
    answer = client.get("/api/v1/runs", {"q": "service:shop wal>5s"})
    assert answer.status_code == 422
    assert answer.json()["at"] == 13
    assert "character 14: there is no field wal (is it wall?)" in answer.json()["detail"]
    told = client.get("/api/v1/runs", {"q": "service:shop", "limit": 500}).json()
    assert {run["run_id"] for run in told["runs"]} == found(project, "service:shop")


@pytest.mark.parametrize("query", ["q=service:shop&from=0", "from=1&to=2", "range=30d", "to=1500000000000000000"])
def test_the_page_shows_whatever_range_is_asked_for(project: Project, client: Client, query: str) -> None:
    page = client.get(f"/runs?{query}")
    assert page.status_code == 200
    assert "st bad" not in page.content.decode().partition("<tbody")[0]


def test_a_view_is_its_owner_s_unless_it_is_shared(project: Project, client: Client) -> None:
    owner, other = (member(project, name, role) for name, role in (("owner", Role.EDITOR), ("other", Role.VIEWER)))
    with override_settings(SIXSTAGE_OPEN=False):
        for name, shared in (("mine", ""), ("ours", "yes")):
            owner.post("/runs/views", {"name": name, "address": "q=service:shop&evil=1&sort=slowest", "shared": shared})
        assert [view.name for view in SavedView.objects.filter(address="q=service%3Ashop&sort=slowest")] == [
            "mine", "ours",
        ]  # fmt: skip
        seen = other.get("/runs").content.decode()
        assert ">ours<" in seen
        assert ">mine<" not in seen
        ours, mine = (SavedView.objects.get(name=name).pk for name in ("ours", "mine"))
        assert other.post("/runs/views/remove", {"view": ours}).status_code == 403
        assert other.post("/runs/views/remove", {"view": mine}).status_code == 404
        assert other.post("/runs/views", {"name": "x", "address": "", "shared": "yes"}).status_code == 403
        assert owner.post("/runs/views", {"name": " ", "address": ""}).status_code == 422
        assert owner.post("/runs/views/remove", {"view": mine}).status_code == 302
    assert SavedView.objects.count() == 1


def test_views_by_the_api_are_those_of_the_page(project: Project) -> None:
    owner, other = (member(project, name, role) for name, role in (("owner", Role.EDITOR), ("other", Role.VIEWER)))
    with override_settings(SIXSTAGE_OPEN=False):
        told = {"name": "ours", "address": "q=service:shop&evil=1&sort=slowest", "shared": True}
        made = owner.post("/api/v1/views", told, content_type="application/json")
        assert made.status_code == 201
        assert made.json()["address"] == "q=service%3Ashop&sort=slowest"
        again = owner.post("/api/v1/views", told | {"address": "q=wall>5s"}, content_type="application/json")
        assert again.json()["id"] == made.json()["id"]
        (seen,) = other.get("/api/v1/views").json()["views"]
        assert seen == again.json() | {"may_remove": False}
        assert "?q=wall%3E5s" in other.get("/runs").content.decode()
        assert other.post("/api/v1/views", told, content_type="application/json").status_code == 403
        assert owner.post("/api/v1/views", told | {"name": " "}, content_type="application/json").status_code == 422
        assert other.delete(f"/api/v1/views/{seen['id']}").status_code == 403
        assert owner.delete(f"/api/v1/views/{seen['id']}").status_code == 204
        assert owner.delete(f"/api/v1/views/{seen['id']}").status_code == 404
        assert owner.get("/api/v1/views").json() == {"views": []}


def test_the_api_completes_what_the_line_completes(project: Project, client: Client) -> None:
    range_ = {"from": WEEK.from_unix_ns, "to": WEEK.to_unix_ns}
    for text, at in (("serv", None), ("service:s", None), ("service:sh wall>1s", 10)):
        asked = {"text": text, **range_} | ({} if at is None else {"at": at})
        told = client.get("/api/v1/completion", asked).json()
        assert told["choices"]
        assert told == client.get("/runs/complete", asked).json()
    insert = client.get("/api/v1/completion", {"text": "service:sh", **range_}).json()["choices"][0]
    assert insert["runs"] == client.get("/api/v1/summary", {"q": "service:shop", "of": "runs", **range_}).json()["runs"]


def member(project: Project, name: str, role: Role) -> Client:
    user = User.objects.create_user(name)
    Membership.objects.create(project=project, user=user, role=role)
    client = Client()
    client.force_login(user)
    return client

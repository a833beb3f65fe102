"""What the main questions read does not grow with the store: each is explained before and after older runs come."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection

from dashboard.reports.core.weeks import last_whole_week
from dashboard.reports.reading import read_told
from ingest.models import Project
from ingest.partitions import ensure_partitions
from ingest.price_list import parse
from ingest.prices import write_table
from ingest.read import live
from ingest.read.deploys import read_deploys
from ingest.read.facets import read_facets
from ingest.read.first_hour import read_first_hour
from ingest.read.run import run_detail
from ingest.read.runs import RunFilter, find_runs
from ingest.read.summary import Question, summarise
from ingest.read.timeline import read_timeline
from ingest.rollups import kept
from ingest.rollups.folding import fold_all
from ingest.scope import Scope
from ingest.stages.model import Run
from ingest.stored import direct_cursor
from tests.integration.rollups.drawn_runs import SECOND_NS, drawn, keep

pytestmark = pytest.mark.django_db

DAY_NS = 86_400 * SECOND_NS
NOW = time.time_ns() // DAY_NS * DAY_NS + 11 * 3600 * SECOND_NS + 123_456_789
STORED = ("ingest_run", "ingest_call", "ingest_tool", "ingest_rollup", "ingest_trace", "ingest_chunk")
PARTITION = re.compile(r"ingest_rollup|ingest_(run|call|tool|trace|chunk)(_\d+)?")
SLACK, FEW = 1.25, 80  # a row or two of each day's partition, and the planner may choose a little otherwise
WEEK = last_whole_week(NOW, ZoneInfo("Asia/Kolkata"))
Ask = Callable[[Scope], object]


def at(days_ago: float) -> int:
    return NOW - int(days_ago * DAY_NS)


QUESTIONS: dict[str, Ask] = {
    "the newest runs": lambda scope: find_runs(scope, RunFilter(), NOW),
    "the newest runs of a window": lambda scope: find_runs(scope, RunFilter(from_unix_ns=at(1), to_unix_ns=NOW), NOW),
    "runs of a service": lambda scope: find_runs(scope, RunFilter(service="shop"), NOW),
    "runs of a service long gone": lambda scope: find_runs(scope, RunFilter(service="gone"), NOW),
    "runs of a version that is nowhere": lambda scope: find_runs(scope, RunFilter(version="0"), NOW),
    "runs of a model": lambda scope: find_runs(scope, RunFilter(model="large", limit=5), NOW),
    "failed runs": lambda scope: find_runs(scope, RunFilter(status="error", limit=5), NOW),
    "the slowest of a day": lambda s: find_runs(s, RunFilter(sort="slowest", from_unix_ns=at(1), limit=5), NOW),
    "runs of a session": lambda scope: find_runs(scope, RunFilter(session="s-rare"), NOW),
    "runs of a user": lambda scope: find_runs(scope, RunFilter(user="u-rare"), NOW),
    "runs in flight": lambda scope: live.in_flight(scope, 12, NOW),
    "runs as they finish": lambda scope: live.finishing(scope, 12, NOW),
    "figures of five minutes": lambda scope: live.figures(scope, *live.last_minutes(NOW), NOW),
    "stages over an hour": lambda scope: live.stage_steps(scope, at(1 / 24), NOW, 60)[1],
    "a week by service": lambda scope: summarise(scope, Question(wanted=_week(), group_by="service"), NOW),
    "a week by model, day by day": lambda s: summarise(s, Question(wanted=_week(), group_by="model", step="day"), NOW),
    "runs of a query that keys tell of": lambda s: find_runs(s, RunFilter(q="service:gon*,nix -status:open"), NOW),
    "runs of a query of a session": lambda scope: find_runs(scope, RunFilter(q="session:s-rare wall>0"), NOW),
    "facets of an hour": lambda scope: read_facets(scope, RunFilter(from_unix_ns=at(1 / 24), to_unix_ns=NOW), NOW),
    "the histogram of a day": lambda s: read_timeline(s, RunFilter(from_unix_ns=at(1)), lambda _: 1200, NOW, 3),
    "deploys of a day": lambda scope: read_deploys(scope, at(1), NOW),
    "the first hour": read_first_hour,
    "the figures of a weekly report": lambda scope: read_told(Project.objects.get(pk=scope.project_id), WEEK, NOW),
    "one run": lambda scope: run_detail(scope, "ab" * 16 + "-" + "cd" * 8, NOW),
}

DAYS_BEFORE = 16  # of what is stored at first
# At days of rollups, whatever is asked; and no further.
LOOKS_BACK_DAYS = {"deploys of a day": 35, "the figures of a weekly report": 35}


def _week() -> RunFilter:
    return RunFilter(from_unix_ns=at(7), to_unix_ns=NOW)


@contextmanager
def explained(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The plans of all statements, as they ran."""
    plans: list[Any] = []
    head = "EXPLAIN (ANALYZE, FORMAT JSON, BUFFERS OFF, TIMING OFF) "

    def explain(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().upper().startswith(("SELECT", "WITH")):
            with direct() as cursor:
                cursor.execute(head + context["cursor"].mogrify(sql, parameters))
                plans.extend(plan["Plan"] for plan in _as_json(cursor.fetchone()[0]))
        return execute(sql, parameters, many, context)

    def direct() -> Any:
        return connection.connection.cursor()

    class Direct:
        """As ``direct_cursor``, explaining first."""

        def __enter__(self) -> Any:
            self.cursor = direct_cursor()
            return self

        def __exit__(self, *_: object) -> None:
            self.cursor.close()

        def execute(self, sql: str, parameters: Any, **options: Any) -> None:
            self.cursor.execute(head + sql, parameters)
            plans.extend(plan["Plan"] for plan in _as_json((self.cursor.fetchone() or ("[]",))[0]))
            self.cursor.execute(sql, parameters, **options)

        def fetchall(self) -> Any:
            return self.cursor.fetchall()

    with monkeypatch.context() as patched, connection.execute_wrapper(explain):
        patched.setattr(kept, "direct_cursor", Direct)
        yield plans


def _as_json(told: Any) -> Any:
    return json.loads(told) if isinstance(told, str) else told


def touched(plan: dict[str, Any]) -> int:
    """Rows of stored things that a plan's scans looked at."""
    own = 0
    if (str(plan.get("Relation Name", "")).startswith(STORED) and "Plans" not in plan) or "Heap" in plan["Node Type"]:
        each = plan.get("Actual Rows", 0) + sum(
            value for name, value in plan.items() if name.startswith("Rows Removed")
        )
        own = round(each * plan.get("Actual Loops", 1))
    return own + sum(map(touched, plan.get("Plans", ())))


def scanned(plan: dict[str, Any]) -> Iterator[str]:
    """Stored things that a plan reads as a whole, though they hold something."""
    read = plan.get("Actual Rows", 0) + plan.get("Rows Removed by Filter", 0)
    if plan["Node Type"] == "Seq Scan" and read and PARTITION.fullmatch(plan["Relation Name"]):
        yield plan["Relation Name"]
    for part in plan.get("Plans", ()):
        yield from scanned(part)


def runs(first_ago: float, last_ago: float, number: int, begin: int) -> list[Run]:
    chance = random.Random(begin)
    ends = sorted(NOW - int(chance.uniform(last_ago, first_ago) * DAY_NS) for _ in range(number))
    return [drawn(chance, begin + n, end, user_id=f"u-{n}", session_id=f"s-{n}") for n, end in enumerate(ends)]


@pytest.fixture
def project(db: None) -> Project:
    for ago in range(40):
        ensure_partitions(NOW - ago * DAY_NS)
    return Project.objects.create(slug="alpha", name="Alpha", zone="Asia/Kolkata")


def store(project: Project, made: list[Run]) -> None:
    keep(project, made, by_end=True)
    fold_all()
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


@pytest.mark.parametrize("priced", [False, True])
def test_no_main_question_reads_more_because_more_is_stored(
    project: Project, monkeypatch: pytest.MonkeyPatch, priced: bool
) -> None:
    if priced:
        price = {"model": "*", "from": "2026-01-01", "input_per_million": "1", "output_per_million": "2"}
        write_table(project, parse("EUR", [price]))
    scope = Scope(project_id=project.pk)
    chance = random.Random(1)
    rare = [drawn(chance, 900_000, at(8.5), service="gone", session_id="s-rare", user_id="u-rare")]
    store(project, runs(DAYS_BEFORE, 0, 1_100, 0) + rare)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # which small tables would be read by, whatever the index
    before = {name: sum(map(touched, _plans_of(ask, scope, monkeypatch))) for name, ask in QUESTIONS.items()}
    store(project, runs(38, 17, 1_600, 100_000))
    plans = {name: _plans_of(ask, scope, monkeypatch) for name, ask in QUESTIONS.items()}
    after = {name: sum(map(touched, plans[name])) for name in QUESTIONS}
    grown = {
        name: (before[name], after[name])
        for name in QUESTIONS
        if after[name] > before[name] * SLACK * max(1, LOOKS_BACK_DAYS.get(name, 0) / DAYS_BEFORE) + FEW
    }
    assert grown == {}
    whole = {name: found for name in QUESTIONS if (found := [table for plan in plans[name] for table in scanned(plan)])}
    assert whole == {}
    assert max(after[name] for name in QUESTIONS if name.startswith("the newest")) < (400 if priced else 200)


def _plans_of(ask: Ask, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    ask(scope)  # what a process reads once, it knows then
    with explained(monkeypatch) as plans:
        ask(scope)
    assert plans
    return plans

"""Engines week against week by their own figures: a cache that cooled is named, quiet ones are let be, and what is not
known any more is not made up."""

from __future__ import annotations

import random
from collections.abc import Collection
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dashboard.reports.core.values import Report, State
from dashboard.reports.core.weeks import Week
from dashboard.reports.forms.text import as_text
from dashboard.reports.making import make_report
from dashboard.reports.storing import what_changed
from ingest.models import EngineSample, EngineTarget, Project
from tests.integration.engines.drawn_engine import DrawnEngine
from tests.integration.reports.planted import HOUR_NS, Plan, Traffic
from tests.integration.reports.served_engines import serve
from tests.integration.reports.telling import Looked, check_sentences

pytestmark = pytest.mark.django_db
WEEK = Week(2026, 13)  # of 167 hours: the clocks go forward
ZONE = ZoneInfo("Europe/Zurich")


@pytest.fixture
def engine(project: Project) -> DrawnEngine:
    for at, week in enumerate((WEEK.shifted(-1), WEEK)):
        Traffic(project, seed=at, runs_a_week=300).write(week, Plan(cause=None))
    return DrawnEngine(EngineTarget.objects.create(project=project, name="vllm-a", url="http://10.0.0.1/metrics"))


def report_of(project: Project) -> Report:
    return make_report(project, WEEK, WEEK.range_ns(ZONE)[1])


def claimed(report: Report) -> list[str]:
    assert report.engines is not None
    return [figure.name for figure in report.engines.rows[0].claimed]


def test_an_engine_whose_cache_cooled_is_named_with_its_own_figures(
    project: Project, engine: DrawnEngine, looked: Looked
) -> None:
    serve(engine, WEEK.shifted(-1), seed=1)
    serve(engine, WEEK, seed=2, hit_rate=0.1, ttft_s=1.4)
    report = report_of(project)

    assert set(claimed(report)) == {"hit_rate", "ttft"}
    assert report.state is State.CHANGED
    text = report.headline.text
    assert text.startswith("By its own count, the engine vllm-a took 1.")
    assert "to the first token instead of" in text
    assert "of what it looked up in its prefix cache instead of 70" in text
    assert report.headline.tone == "worse"
    assert check_sentences(report, looked) >= 4
    assert "measured by the engines themselves" in " ".join(as_text(report).split())


def test_quiet_engines_claim_nothing_and_a_quiet_week_says_so_of_them(project: Project, engine: DrawnEngine) -> None:
    serve(engine, WEEK.shifted(-1), seed=3)
    serve(engine, WEEK, seed=4)
    report = report_of(project)

    assert claimed(report) == []
    assert report.state is State.QUIET
    assert len(report.sentences) == 1
    assert report.sentences[0].text.startswith("No service, stage, tool, cache or engine changed")


def test_days_that_differ_much_keep_a_change_from_being_claimed(project: Project, engine: DrawnEngine) -> None:
    """A queue that was as long on one day of the week before: nothing new, however sure the mean is."""
    chance = random.Random(5)
    before, after = WEEK.shifted(-1).day_bounds_ns(ZONE), WEEK.day_bounds_ns(ZONE)
    for bounds, queues in ((before, (0.05,) * 6 + (3.0,)), (after, (2.0,) * 7)):
        for midnight, queue_s in zip(bounds, queues, strict=False):
            for hour in range(20):
                at_ns = midnight + hour * HOUR_NS + HOUR_NS // 2
                engine.scrape(at_ns, requests=chance.randint(80, 120), queue_s=queue_s)
    engine.keep()

    assert "queue" not in claimed(report_of(project))


@pytest.mark.parametrize("restarts", [(), (30, 31, 100)])
def test_its_figures_are_those_of_the_series_of_a_week(
    project: Project, engine: DrawnEngine, looked: Looked, restarts: Collection[int]
) -> None:
    serve(engine, WEEK.shifted(-1), seed=6, restarts=restarts)
    serve(engine, WEEK, seed=7, restarts=restarts)
    report = report_of(project)
    assert report.engines is not None
    (row,) = report.engines.rows
    values = {"hit_rate": "share", "preemptions": "count"}

    for figure in row.figures:
        for (first, last), value in (
            (WEEK.shifted(-1).range_ns(ZONE), figure.change.before), (WEEK.range_ns(ZONE), figure.change.after)
        ):  # fmt: skip
            path = f"/api/v1/engines/{row.id}/series?metric={figure.name}&from={first}&to={last}"
            told = looked.number(f"{path}&step={(last - first) // 10**9}#series/0/points/0/values")
            assert value == told[values.get(figure.name, "mean")]
    assert {figure.name for figure in row.figures} == {"queue", "ttft", "tpot", "hit_rate", "preemptions"}


def test_scrapes_that_are_kept_no_more_are_not_made_up_and_change_no_sent_report(
    project: Project, engine: DrawnEngine, settings: Any
) -> None:
    serve(engine, WEEK.shifted(-1), seed=8)
    serve(engine, WEEK, seed=9, hit_rate=0.1)
    sent = report_of(project)
    EngineSample.objects.filter(at_unix_ns__lt=WEEK.range_ns(ZONE)[0]).delete()
    settings.SIXSTAGE_RETENTION_DAYS = 8
    now = report_of(project)

    assert now.engines is not None
    assert all(figure.change.before is None for figure in now.engines.rows[0].figures)
    assert claimed(now) == []
    assert now.engines.note == (
        "Scrapes of engines are kept for 8 days: of the week before not all are there any more."
    )
    assert "observed 0 % of week 12" in as_text(now).replace("\u202f", " ")
    assert what_changed(sent, make_report(project, WEEK, WEEK.range_ns(ZONE)[1], like=sent)) == []


def test_where_no_engine_is_known_nothing_is_said_of_any(project: Project) -> None:
    Traffic(project, seed=1, runs_a_week=100).write(WEEK, Plan(cause=None))
    report = report_of(project)

    assert report.engines is None
    assert "ngines themselves" not in as_text(report)

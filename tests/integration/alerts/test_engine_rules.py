"""Rules on engines' own series: each engine an alert, by the figures that its page shows."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.alerts.history import read_firings
from dashboard.alerts.models import Firing
from dashboard.alerts.previews import draw
from dashboard.alerts.ready import BY_KEY
from ingest.models import EngineTarget, Project
from ingest.read.engines import read_series
from ingest.scope import Scope
from tests.integration.alerts.clock import MINUTE_NS, NOON, SECOND_NS, minute_ns
from tests.integration.alerts.conftest import Make, ticks
from tests.integration.alerts.receivers import Receiver
from tests.integration.engines.drawn_engine import DrawnEngine

pytestmark = pytest.mark.django_db
WEEK_MINUTES = 7 * 24 * 60
EVERY_S = 20


@pytest.fixture
def engine(project: Project) -> DrawnEngine:
    return _engine(project, "vllm-a")


def _engine(project: Project, name: str) -> DrawnEngine:
    return DrawnEngine(EngineTarget.objects.create(
        project=project, name=name, url=f"http://10.0.0.1/{name}", interval_ms=EVERY_S * 1_000
    ))  # fmt: skip


def scrapes(of: DrawnEngine, first: int, last: int, *, fails: bool = False, **told: Any) -> None:
    """Every twenty seconds from one minute after noon to another."""
    for at_ns in range(NOON + first * MINUTE_NS, NOON + last * MINUTE_NS, EVERY_S * SECOND_NS):
        if fails:
            of.fail(at_ns + SECOND_NS)
        else:
            of.scrape(at_ns + SECOND_NS, **{"requests": 10} | told)
    of.keep()


def told_of(receiver: Receiver) -> list[tuple[str, str]]:
    return [(alert["kind"], alert["labels"]["engine"]) for got in receiver.got for alert in got.told["alerts"]]


def test_a_queue_fires_for_the_engine_that_has_it(
    project: Project, engine: DrawnEngine, rule: Make, channel: Make, receiver: Receiver
) -> None:
    scrapes(engine, -2, 5)
    scrapes(engine, 5, 12, waiting=40)
    scrapes(engine, 12, 18)
    scrapes(_engine(project, "vllm-b"), -2, 18, waiting=1)
    rule(of="engine.waiting", stat="mean", above="20", **{"for": "1m", "window": "2m"})
    channel(url=receiver.url)
    ticks(1, 18)
    assert told_of(receiver) == [("fired", "vllm-a"), ("resolved", "vllm-a")]
    (row,) = read_firings(Scope(project_id=project.pk), NOON, NOON + 18 * MINUTE_NS)
    assert (row.fired_unix_ns - NOON) // MINUTE_NS in (7, 8)
    assert row.worst == 40


def test_a_quantile_is_that_of_the_engines_page_to_the_digit(project: Project, engine: DrawnEngine, rule: Make) -> None:
    scrapes(engine, -5, 5)
    scrapes(engine, 5, 10, ttft_s=4.0)
    rule(of="engine.ttft", stat="p95", above="3s", **{"for": "0s", "window": "2m"})
    ticks(1, 9)
    firing = Firing.objects.get()
    at = firing.fired_unix_ns
    told = read_series(Scope(project_id=project.pk), engine.target.pk, ["ttft"], at - 2 * MINUTE_NS, at, 120)
    assert told
    (point,) = told[0].points
    assert (firing.value, firing.samples) == (point.values["p95"], point.values["count"])
    assert firing.title.startswith("TTFT of the engine p95 of vllm-a is ")


def test_too_few_requests_tell_nothing_of_an_engine(engine: DrawnEngine, rule: Make) -> None:
    scrapes(engine, -5, 10, ttft_s=9.0, requests=1)
    rule(of="engine.ttft", stat="p95", above="3s", **{"for": "0s", "window": "2m"})
    ticks(1, 9)
    assert not Firing.objects.exists()


def test_an_engine_that_is_down_fires_by_the_ready_made_rule_and_comes_back(
    engine: DrawnEngine, rule: Make, channel: Make, receiver: Receiver
) -> None:
    scrapes(engine, -3, 5)
    scrapes(engine, 5, 10, fails=True)
    scrapes(engine, 10, 16)
    rule(**BY_KEY["engine"].told)
    channel(url=receiver.url)
    ticks(1, 16)
    assert told_of(receiver) == [("fired", "vllm-a"), ("resolved", "vllm-a")]
    firing = Firing.objects.get()
    assert firing.severity == "critical"
    assert firing.worst == 0


def test_a_prefix_cache_is_compared_with_that_of_a_week_ago(engine: DrawnEngine, rule: Make) -> None:
    scrapes(engine, -WEEK_MINUTES - 5, -WEEK_MINUTES + 12, hit_rate=0.8)
    scrapes(engine, -5, 4, hit_rate=0.7)
    scrapes(engine, 4, 12, hit_rate=0.3)
    rule(of="engine.hit_rate", falls="30%", **{"for": "1m", "window": "3m"})
    ticks(1, 12)
    firing = Firing.objects.get()
    assert firing.since_unix_ns > NOON + 4 * MINUTE_NS
    assert firing.worst == pytest.approx(0.3, abs=0.01)
    assert firing.limit == pytest.approx(0.8 * 0.7, abs=0.001)


def test_a_rule_on_an_engine_is_drawn_before_it_is_saved(project: Project, engine: DrawnEngine, rule: Make) -> None:
    scrapes(engine, -120, -60)
    scrapes(engine, -60, -30, waiting=40)
    scrapes(engine, -30, 0)
    written = rule(of="engine.waiting", stat="mean", above="20", **{"for": "5m", "window": "5m"})
    drawn = draw(project, written.value(), None, minute_ns(1))
    (would,) = drawn.would
    assert would.group == "vllm-a"
    assert NOON - 60 * MINUTE_NS < would.fired_unix_ns < NOON - 45 * MINUTE_NS
    assert would.resolved_unix_ns
    assert abs(would.resolved_unix_ns - (NOON - 30 * MINUTE_NS)) <= 10 * MINUTE_NS
    assert (drawn.groups, drawn.how) == (1, "every 5 minutes")

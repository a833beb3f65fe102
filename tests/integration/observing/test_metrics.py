"""/metrics: what a Prometheus reads, and what of it whom."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from ingest.models import SettledUntil
from ingest.observing import measures
from ingest.observing.reporter import Reporter
from ingest.observing.settled import count_settled
from tests.integration.access.scenes import Side, make_side

pytestmark = pytest.mark.django_db(transaction=True)

SECOND_NS = 10**9


@pytest.fixture
def alpha(settings: Any) -> Side:
    settings.SIXSTAGE_OPEN = False
    return make_side("alpha")


@pytest.fixture
def beta() -> Side:
    return make_side("beta")


def scrape(**headers: str) -> dict[str, list[Any]]:
    response = Client(headers=headers).get("/metrics")
    assert response.status_code == 200, response.content
    assert response.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(response.content.decode())
    return {family.name: family.samples for family in families}


def bearer(side: Side) -> dict[str, str]:
    return {"authorization": f"Bearer {side.token_secret}"}


def test_a_stranger_is_told_how_to_come_in(alpha: Side) -> None:
    response = Client().get("/metrics")
    assert response.status_code == 401
    assert "read token" in response.json()["detail"]


def test_an_open_instance_asks_nobody(settings: Any, alpha: Side) -> None:
    settings.SIXSTAGE_OPEN = True
    assert "sixstage_queue_traces" in scrape()


def test_a_token_reads_its_own_project_alone(alpha: Side, beta: Side, reporter: Reporter) -> None:
    for side in (alpha, beta):
        measures.STORED_ITEMS.labels("traces", str(side.project.pk)).inc(5)
    measures.REFUSED_REQUESTS.labels("traces", "unknown", "", "no_key").inc()
    reporter.flush()
    SettledUntil.objects.update_or_create(id=1, defaults={"counted_unix_ns": time.time_ns() - 60 * SECOND_NS})
    count_settled(time.time_ns())
    told = scrape(**bearer(beta))
    assert [(s.labels["project"], s.value) for s in told["sixstage_stored_items"]] == [("beta", 5)]
    assert {s.labels["project"] for s in told["sixstage_run_wall_seconds"]} == {"beta"}
    assert {s.labels["project"] for s in told["sixstage_refused_requests"]} == {"unknown"}
    assert "alpha" not in str(told)


def test_histograms_are_cumulative_and_whole(alpha: Side, reporter: Reporter) -> None:
    SettledUntil.objects.update_or_create(id=1, defaults={"counted_unix_ns": time.time_ns() - 60 * SECOND_NS})
    count_settled(time.time_ns())
    for seconds in (0.004, 0.3, 100.0):
        measures.COMMIT_SECONDS.observe(seconds)
    reporter.flush()
    told = scrape(**bearer(alpha))
    for name in ("sixstage_commit_seconds", "sixstage_run_wall_seconds"):
        buckets = [s for s in told[name] if s.name.endswith("_bucket")]
        count = next(s.value for s in told[name] if s.name.endswith("_count"))
        values = [s.value for s in buckets]
        assert values == sorted(values)
        assert (buckets[-1].labels["le"], buckets[-1].value) == ("+Inf", count)
        assert [float(s.labels["le"]) for s in buckets] == sorted(float(s.labels["le"]) for s in buckets)
    assert {s.labels["stage"] for s in told["sixstage_run_stage_seconds"]} >= {"prefill", "tool_execution", "queue"}


def test_without_valkey_the_heartbeat_is_unknown_and_not_nought(alpha: Side, settings: Any) -> None:
    settings.SIXSTAGE_REDIS_URL = "unix:///nonexistent"
    told = scrape(**bearer(alpha))
    assert "sixstage_worker_heartbeat_age_seconds" not in told
    assert "sixstage_queue_traces" in told


def test_names_follow_the_conventions(alpha: Side) -> None:
    for family in measures.REGISTRY.collect():
        assert family.name.startswith("sixstage_")
        assert family.documentation
        assert family.type in ("counter", "histogram")
        if family.type == "histogram":
            assert family.name.endswith(("_seconds", "_bytes"))

"""Objectives over a range, met or missed by the counts of everything else; and mute times that the store holds."""

from __future__ import annotations

import pytest
from django.test import Client

from dashboard.alerts.history import read_slo_results
from dashboard.alerts.models import Delivery
from dashboard.alerts.rules import save_slo
from dashboard.alerts.silencing import add_silence
from ingest.models import Project
from ingest.scope import Scope
from tests.integration.alerts.clock import MINUTE_NS, NOON
from tests.integration.alerts.conftest import Make, Traffic, ticks
from tests.integration.alerts.receivers import Receiver

pytestmark = pytest.mark.django_db
QUICK = {"name": "quick", "good": "runs.wall", "at_most": "5s", "target": "90%"}


def test_objectives_are_met_or_missed_by_what_the_api_counts(project: Project, traffic: Traffic) -> None:
    traffic(0, 16, each=10)
    traffic(16, 20, each=10, wall_s=9.0)
    save_slo(project, QUICK)
    save_slo(project, QUICK | {"name": "quick at the desk", "where": {"service": "desk"}})
    save_slo(project, {"name": "runs succeed", "good": "runs.error_rate", "target": "99%"})
    scope, end = Scope(project_id=project.pk), NOON + 20 * MINUTE_NS

    quick, desk, succeed = read_slo_results(scope, NOON, end)

    assert (quick.slo.name, quick.total, quick.good, quick.is_met) == ("quick", 200, 160, False)
    assert quick.share == pytest.approx(0.8)
    assert quick.budget_left == pytest.approx(-1)  # twice what may fail has failed
    assert (desk.total, desk.share, desk.is_met, desk.budget_left) == (0, None, None, None)
    assert (succeed.good, succeed.is_met, succeed.budget_left) == (200, True, 1.0)
    told = Client().get("/api/v1/summary", {"from": str(NOON), "to": str(end), "of": "runs"}).json()
    assert told["total"]["runs"]["count"] == quick.total
    assert read_slo_results(scope, NOON, NOON + 16 * MINUTE_NS)[0].is_met is True


def test_a_mute_time_holds_by_its_zones_clock_and_its_end_tells_what_still_fires(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    """These tests begin at 13:00 in Berlin, on a Wednesday."""
    traffic(-5, 40, each=10, wall_s=9.0)
    rule(group_by="service")
    channel(url=receiver.url)
    usual = {"matchers": "severity!=critical", "days": "mon, wed", "from": "12:55", "to": "13:20"}
    add_silence(project, usual | {"zone": "Europe/London"}, "ada", NOON)  # where it is noon
    muted = add_silence(project, usual | {"zone": "Europe/Berlin"}, "ada", NOON)
    ticks(1, 19)
    assert receiver.got == []
    kept = Delivery.objects.get()
    assert (kept.quieted, kept.silence_id) == ("silenced", muted.pk)
    ticks(19, 24)
    assert [alert["kind"] for got in receiver.got for alert in got.told["alerts"]] == ["repeated"]


def test_a_mute_time_of_another_day_mutes_nothing(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(-5, 12, each=10, wall_s=9.0)
    rule(group_by="service")
    channel(url=receiver.url)
    add_silence(project, {"matchers": "service=shop", "days": "tue, thu", "zone": "Europe/Berlin"}, "ada", NOON)
    ticks(1, 8)
    assert len(receiver.got) == 1

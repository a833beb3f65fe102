"""From stored runs to a message that arrives: what fires is told once, with facts and links, and so is its end."""

from __future__ import annotations

import pytest

from dashboard.alerts.history import read_firings
from dashboard.alerts.models import Alert
from ingest.models import Project
from ingest.scope import Scope
from tests.integration.alerts.conftest import MINUTE_NS, NOON, Make, Traffic, ticks
from tests.integration.alerts.receivers import Receiver

pytestmark = pytest.mark.django_db


def test_an_incident_fires_once_and_resolves_once(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(-5, 10)
    traffic(10, 20, wall_s=9.0)
    traffic(20, 30)
    rule(group_by="service", note="See the runbook.")
    channel(url=receiver.url)

    ticks(1, 30)

    fired, resolved = receiver.got
    (alert,) = fired.told["alerts"]
    assert alert["title"].startswith("Wall time p95 of shop is 9.")
    assert alert["title"].endswith("above 5.00\u202fs")
    assert alert["labels"] == {"alertname": "slow", "project": "alpha", "service": "shop", "severity": "warning"}
    assert alert["note"] == "See the runbook."
    assert alert["stage"]["stage"] == "decode"
    assert len(alert["slowest"]) == 3
    assert alert["slowest"][0]["url"].startswith("http")
    assert "service=shop" in alert["links"]["view"]
    (row,) = read_firings(Scope(project_id=project.pk), NOON, NOON + 30 * MINUTE_NS)
    assert (row.since_unix_ns, row.fired_unix_ns) == (NOON + 11 * MINUTE_NS, NOON + 13 * MINUTE_NS)
    assert row.resolved_unix_ns == NOON + 23 * MINUTE_NS
    assert resolved.told["alerts"][0]["status"] == "resolved"
    assert fired.headers["idempotency-key"] != resolved.headers["idempotency-key"]
    assert Alert.objects.get().state == "ok"

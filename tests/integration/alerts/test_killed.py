"""kill -9 between evaluating, storing and sending: no event is lost, and none is announced under two ids.

``make alert-kills`` does it a hundred times.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import defaultdict
from typing import Any

import pytest
from django.db import connection

from dashboard.alerts.models import AlertEvent, Delivery, Firing, Notification
from ingest.models import Project
from tests.instance import ROOT
from tests.integration.alerts.conftest import Make, Traffic, ticks
from tests.integration.alerts.receivers import Receiver

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(1800)]
KILLS = int(os.environ.get("ALERT_KILLS", "10"))
POINTS = (
    "evaluated, not stored", "in the transaction, fired", "in the transaction, event written", "stored", "bundling",
    "bundled", "claimed, not sent", "sent, not noted", "noted", "claimed, not evaluated",
)  # fmt: skip
LEASES_MINUTES = 6  # after which what a dead one had claimed is anybody's


@pytest.fixture
def project(transactional_db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


def work(point: str, first: int, last: int, settings: Any) -> int:
    """Minutes of work by a process of its own; how it ended."""
    given = connection.settings_dict
    url = f"postgresql://{given['USER']}@/{given['NAME']}?host={given['OPTIONS'].get('host') or given['HOST']}"
    if given["PORT"]:
        url += f"&port={given['PORT']}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.alerts.dying", point, str(first), str(last)], cwd=ROOT,
        env=os.environ | {"SIXSTAGE_DATABASE_URL": url, "SIXSTAGE_ENCRYPTION_KEY": settings.SIXSTAGE_ENCRYPTION_KEY},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def test_no_event_is_lost_and_none_told_under_two_ids(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver, settings: Any
) -> None:
    """An incident every 16 minutes: each fires and is resolved, and at each a worker dies somewhere."""
    chance = random.Random(11)
    rule(group_by="service", **{"for": "0s", "repeat": "30d"})
    channel(url=receiver.url)
    killed, minute = 0, 1
    for round_ in range(-(-KILLS // 2)):
        slow = 16 * round_ + 4
        traffic(16 * round_, slow, each=8)
        traffic(slow, slow + 6, each=8, wall_s=9.0)
        traffic(slow + 6, 16 * round_ + 16, each=8)
        for until_minute in (slow + 5, 16 * round_ + 16):
            point = POINTS[killed % len(POINTS)] if killed < len(POINTS) else chance.choice(POINTS)
            killed += work(point, minute, until_minute, settings) == -signal.SIGKILL
            minute = until_minute - 1
        ticks(minute, minute + LEASES_MINUTES)  # this process lives
        minute = 16 * round_ + 16

    ticks(minute, minute + 2 * LEASES_MINUTES)
    assert killed >= KILLS * 0.9
    told = defaultdict(set)
    for got in receiver.got:
        for event in got.told["events"]:
            told[event].add(got.told["id"])
    events = {str(event.pk): event for event in AlertEvent.objects.all()}
    assert set(told) == set(events), "an event was lost"
    assert all(len(ids) == 1 for ids in told.values()), "an event was told under two ids"
    assert Firing.objects.count() == -(-KILLS // 2)
    assert not Firing.objects.filter(resolved_unix_ns=None).exists()
    # What was over before the next worker came is in the history only.
    assert len(events) == 2 * Firing.objects.filter(was_missed=False).count()
    assert not Notification.objects.filter(sent_unix_ns=None).exists()
    assert not Delivery.objects.filter(notification=None).exists()

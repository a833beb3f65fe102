"""A rule drawn on last week's data says when it would have fired: as it does, when it is evaluated."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.alerts.evaluating import evaluate_due
from dashboard.alerts.models import Firing
from dashboard.alerts.previews import draw
from dashboard.alerts.rules import save_rule, save_slo
from ingest.models import Project
from tests.integration.alerts.clock import MINUTE_NS, NOON, minute_ns
from tests.integration.alerts.conftest import Traffic

pytestmark = pytest.mark.django_db
SLOW = {"name": "slow", "of": "runs.wall", "above": "5s", "for": "2m", "window": "5m", "keep_firing": "3m"}


def test_it_would_have_fired_when_it_does_fire(project: Project, traffic: Traffic) -> None:
    traffic(-180, 0, each=8, service="desk")
    for first, last, wall_s in ((-180, -130, 2.0), (-130, -118, 9.0), (-118, -50, 2.0), (-50, -43, 9.0), (-43, 0, 2.0)):
        traffic(first, last, each=8, wall_s=wall_s)
    row = save_rule(project, SLOW | {"group_by": "service"}, NOON, evaluated_unix_ns=NOON - 180 * MINUTE_NS)

    drawn = draw(project, row.value(), None, minute_ns(0))
    evaluate_due(minute_ns(0))

    fired = Firing.objects.order_by("-fired_unix_ns")
    assert [(one.group, one.fired_unix_ns, one.resolved_unix_ns) for one in drawn.would] == [
        (one.labels["service"], one.fired_unix_ns, one.resolved_unix_ns) for one in fired
    ]
    assert len(fired) == 2
    assert drawn.groups == 2
    assert drawn.chart["limit"] == 5 * 10**9
    assert [(int(start), int(end)) for start, end in drawn.chart["spans"]] == [
        (one.fired_unix_ns, one.resolved_unix_ns) for one in reversed(fired)
    ]
    (line,) = [line for line in drawn.chart["lines"] if line["name"] == "shop"]
    assert sum(value is not None and value > 5 * 10**9 for value in line["values"]) >= 2
    assert not Firing.objects.exclude(was_missed=True).exists()


@pytest.mark.parametrize(
    ("told", "within"),
    [
        ({"of": "runs.count", "absent": True, "window": "15m", "for": "0s"}, (-60, -15)),
        ({"burns": {"slo": "quick", "pairs": [{"long": "1h", "short": "15m", "factor": 14.4}]}}, (-45, 0)),
    ],
    ids=["absent", "burns"],
)
def test_it_is_drawn_for_what_has_no_limit_too(
    project: Project, traffic: Traffic, told: dict[str, Any], within: tuple[int, int]
) -> None:
    slo = save_slo(project, {"name": "quick", "good": "runs.wall", "at_most": "5s", "target": "99%"})
    traffic(-180, -75, each=8)
    traffic(-30 if "absent" in told else -75, 0, each=8, wall_s=9.0)
    row = save_rule(project, {"name": "r"} | told, NOON)

    drawn = draw(project, row.value(), slo.value if "burns" in told else None, minute_ns(0))

    would = drawn.would[0]
    assert within[0] - 15 <= (would.fired_unix_ns - NOON) // MINUTE_NS <= within[1]
    assert drawn.how == "every quarter-hour"


def test_of_too_few_runs_it_tells_nothing_and_says_so(project: Project, traffic: Traffic) -> None:
    traffic(-30, 0, each=1, wall_s=9.0)
    row = save_rule(project, SLOW, NOON)
    drawn = draw(project, row.value(), None, minute_ns(0))
    assert drawn.would == []
    assert drawn.untold == drawn.looks > 0

"""A simulated clock drives four weeks through the rules: each incident fires once and resolves once, at the right
times, and nothing else fires. More seeds: ``make alert-seeds SEEDS=50``."""

from __future__ import annotations

import os
import random
from zoneinfo import ZoneInfo

import pytest

from dashboard.alerts.core.facts import facts_at, track_of
from dashboard.alerts.core.instants import week_before
from dashboard.alerts.core.rule import Change, Rule, Slo
from dashboard.alerts.core.standing import Fired, Resolved, Standing, move, timing_of
from dashboard.alerts.core.tally import Step
from dashboard.alerts.core.verdict import judge
from dashboard.alerts.core.written import read_rule, read_slo
from tests.unit.alerts.simulated import MINUTE_NS, MINUTES, START, Incident, draw_incidents, draw_steps

SEEDS = range(int(os.environ.get("ALERT_SEEDS", "3")))
ZONE = ZoneInfo("Europe/Berlin")  # whose clocks change on 30 March, within the four weeks
SLO = read_slo({"name": "runs succeed", "good": "runs.error_rate", "target": "99%"})
# A slow burn goes on for hours after an incident: as it should, but it makes no sharp end.
FAST = [{"long": "1h", "short": "5m", "factor": 14.4}, {"long": "6h", "short": "30m", "factor": 6}]
FIRST_HOUR = 60  # before which nothing came, which is no incident
# Each rule with its series, and the incident that it is for.
RULES = (
    ("slow shop", "shop", {"name": "ttft", "of": "calls.ttft", "above": "3s", "for": "5m", "keep_firing": "5m"}),
    ("slow desk", "desk",
     {"name": "ttft", "of": "calls.ttft", "above": "3s", "for": "4m", "keep_firing": "4m", "every": "2m"}),
    ("failing tool", "tool",
     {"name": "tool", "of": "tools.failure_rate", "above": "5%", "window": "15m", "for": "5m", "keep_firing": "10m",
      "every": "2m"}),
    ("failing runs", "runs",
     {"name": "burn", "burns": {"slo": "runs succeed", "pairs": FAST}, "keep_firing": "10m", "every": "2m"}),
    ("no runs", "runs", {"name": "none", "of": "runs.count", "absent": True, "window": "15m"}),
    ("long runs", "walls",
     {"name": "wall", "of": "runs.wall", "rises": "50%", "window": "30m", "for": "15m", "keep_firing": "15m",
      "every": "5m"}),
)  # fmt: skip
# In how many minutes after its begin an incident fires, at least and at most; and after its end, how soon it resolves:
# when enough of the window is sound again, and the rule's `keep firing` is over.
IN_TIME = {
    "slow shop": ((5, 9), (5, 11)), "slow desk": ((4, 9), (4, 12)), "failing tool": ((6, 12), (19, 27)),
    "failing runs": ((14, 34), (10, 43)), "no runs": ((15, 16), (0, 2)), "long runs": ((15, 26), (30, 50)),
}  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_each_incident_fires_once_at_the_right_time_and_nothing_else_does(seed: int) -> None:
    chance = random.Random(seed)
    incidents = draw_incidents(chance)
    series = draw_steps(chance, incidents)

    for what, name, told in RULES:
        fired = run(read_rule(told, {SLO.name: SLO}), SLO if "burns" in told else None, series[name])
        expected = [one for one in incidents if one.what == what]
        assert len(fired) == len(expected), (what, fired, expected)
        for one, (first, last) in zip(expected, fired, strict=True):
            assert_in_time(what, one, first, last)


def assert_in_time(what: str, incident: Incident, fired: int, resolved: int | None) -> None:
    (soonest, latest), (sooner, later) = IN_TIME[what]
    assert soonest <= fired - incident.first <= latest, (what, incident, fired)
    assert resolved is not None
    assert sooner <= resolved - incident.last <= later, (what, incident, resolved)


def run(rule: Rule, slo: Slo | None, steps: list[Step]) -> list[tuple[int, int | None]]:
    """The minutes at which it fired and was resolved, evaluated every minute as it is when it runs."""
    track, standing, timing = track_of(steps, slo), Standing(), timing_of(rule)
    compares = isinstance(rule.condition, Change)
    found: list[tuple[int, int | None]] = []
    for minute in range(FIRST_HOUR, MINUTES, rule.every_s // 60):
        at = START + minute * MINUTE_NS
        before = week_before(at, ZONE) if compares else None
        standing, moved = move(standing, judge(rule, facts_at(rule, track, at, before), slo), at, timing)
        if isinstance(moved, Fired):
            found.append((minute, None))
        elif isinstance(moved, Resolved):
            found[-1] = (found[-1][0], minute)
    return found

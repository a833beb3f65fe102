"""Downtime, late data, clocks that jump, projects that go, people who have seen it: nobody is told wrongly or twice."""

from __future__ import annotations

import pytest

from dashboard.alerts.evaluating import evaluate_due
from dashboard.alerts.models import Alert, AlertRule, Delivery, Firing, Notification
from dashboard.alerts.rules import remove_rule, save_rule, save_slo
from dashboard.alerts.silencing import acknowledge, add_silence
from ingest.models import DirtyTrace, Project
from ingest.partitions import today
from tests.integration.alerts.clock import MINUTE_NS, NOON, minute_ns
from tests.integration.alerts.conftest import Make, Traffic, tick, ticks
from tests.integration.alerts.receivers import Receiver

pytestmark = pytest.mark.django_db


def kinds(receiver: Receiver) -> list[str]:
    return [alert["kind"] for got in receiver.got for alert in got.told["alerts"]]


def test_after_downtime_only_what_still_fires_is_told(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10)
    traffic(10, 20, wall_s=9.0)  # over again before anybody looks
    traffic(20, 50)
    traffic(50, 62, wall_s=9.0)
    rule(group_by="service")
    channel(url=receiver.url)
    ticks(1, 5)
    tick(60)

    assert [one.was_missed for one in Firing.objects.order_by("fired_unix_ns")] == [True, False]
    assert kinds(receiver) == ["fired"]
    assert Firing.objects.get(was_missed=False).since_unix_ns == NOON + 51 * MINUTE_NS


def test_what_this_instance_missed_is_not_taken_for_absent(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10)
    rule(of="runs.count", absent=True, window="5m", **{"for": "0s"})
    channel(url=receiver.url)
    ticks(1, 10)
    tick(60)  # fifty minutes in which nobody received anything either
    traffic(60, 64)
    ticks(61, 64)
    assert kinds(receiver) == []
    ticks(64, 72)
    assert kinds(receiver) == ["fired"], "but what stays away from now on is"


def test_while_traces_wait_for_a_worker_nothing_is_judged(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10)
    rule(of="runs.count", absent=True, window="3m", **{"for": "0s"})
    channel(url=receiver.url)
    ticks(1, 8)
    mark = DirtyTrace.objects.create(
        trace_id=b"t" * 16, project_id=project.pk, day=today(NOON), generation=1, received_unix_ns=NOON,
        due_unix_ns=NOON + 10 * MINUTE_NS,
    )  # fmt: skip
    ticks(8, 20)
    assert AlertRule.objects.get().evaluated_unix_ns <= NOON + 10 * MINUTE_NS
    ticks(20, 40)
    assert kinds(receiver) == []
    assert "traces wait for a worker" in AlertRule.objects.get().error
    mark.delete()
    ticks(40, 44)
    assert AlertRule.objects.get().error == ""


def test_late_data_may_resolve_but_rewrites_nothing(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 6)
    traffic(6, 12, wall_s=9.0, each=21)
    rule(of="runs.wall", stat="p50", group_by="service", **{"for": "1m"})
    channel(url=receiver.url)
    ticks(1, 11)
    announced = Firing.objects.get()
    traffic(6, 12, each=100)  # of before, and most of it was quick
    ticks(11, 13)
    after = Firing.objects.get()
    assert kinds(receiver) == ["fired", "resolved"]
    assert (after.title, after.value, after.fired_unix_ns) == (
        announced.title, announced.value, announced.fired_unix_ns,
    )  # fmt: skip


def test_a_clock_that_was_ahead_delays_nothing_for_ever(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10)
    traffic(10, 30, wall_s=9.0)
    rule(group_by="service")
    channel(url=receiver.url)
    ticks(1, 9)
    evaluate_due(minute_ns(60 * 24 * 30))
    ticks(10, 20)
    assert kinds(receiver) == ["fired"]


def test_a_clock_that_goes_back_a_little_judges_nothing_twice(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10)
    traffic(10, 20, wall_s=9.0)
    traffic(20, 30)
    rule(group_by="service")
    channel(url=receiver.url)
    for minute in (*range(1, 15), *range(11, 26), *range(22, 29)):
        tick(minute)
    assert kinds(receiver) == ["fired", "resolved"]


def test_a_project_deleted_meanwhile_takes_all_with_it(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10, wall_s=9.0)
    rule(group_by="service")
    channel(url=receiver.url)
    receiver.answers = [503] * 9
    ticks(1, 9)
    assert Notification.objects.exists()
    project.delete()
    tick(10)
    tick(11)
    assert not Firing.objects.exists()
    assert not Notification.objects.exists()


def test_a_rule_taken_away_ends_what_it_has_firing_and_leaves_its_history(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 10, wall_s=9.0)
    row = rule(group_by="service")
    channel(url=receiver.url)
    ticks(1, 8)
    remove_rule(row, minute_ns(8))
    tick(9)
    assert kinds(receiver) == ["fired", "resolved"]
    gone = Firing.objects.get()
    assert (gone.rule, gone.rule_name, gone.end) == (None, "slow", "gone")


def test_changing_the_question_ends_a_firing_and_changing_words_does_not(
    project: Project, traffic: Traffic, rule: Make
) -> None:
    traffic(0, 20, wall_s=9.0)
    row = rule(group_by="service")
    ticks(1, 8)
    save_rule(project, row.body | {"note": "Look here."}, minute_ns(8), row=row)
    assert Firing.objects.get().resolved_unix_ns is None
    save_rule(project, row.body | {"above": "20s"}, minute_ns(9), row=row)
    assert Firing.objects.get().end == "rule_changed"
    assert not Alert.objects.exists()


def test_a_silence_is_kept_and_its_end_tells_what_still_fires(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 30, wall_s=9.0)
    rule(group_by="service")
    channel(url=receiver.url)
    add_silence(project, {"matchers": 'service="sh*", alertname!=other', "for": "20m"}, "ada", NOON)
    ticks(1, 19)
    assert kinds(receiver) == []
    assert Delivery.objects.get().quieted == "silenced"
    ticks(19, 24)
    assert kinds(receiver) == ["repeated"]


def test_it_is_told_again_unless_somebody_has_seen_it(
    traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    traffic(0, 40, wall_s=9.0)
    rule(group_by="service", repeat="10m")
    channel(url=receiver.url)
    ticks(1, 16)
    assert kinds(receiver) == ["fired", "repeated"]
    acknowledge(Firing.objects.get(), "ada", minute_ns(16))
    ticks(16, 40)
    assert kinds(receiver) == ["fired", "repeated"]


def test_an_objective_that_burns_is_told_by_its_rate(
    project: Project, traffic: Traffic, rule: Make, channel: Make, receiver: Receiver
) -> None:
    save_slo(project, {"name": "quick", "good": "runs.wall", "at_most": "5s", "target": "99%"})
    traffic(-60, 5, each=20)
    traffic(5, 30, each=20, wall_s=9.0)
    rule(burns={"slo": "quick"})
    channel(url=receiver.url)
    ticks(1, 25)
    (alert,) = receiver.got[0].told["alerts"]
    assert alert["title"].startswith("quick burns its error budget ")
    assert "over the last" in alert["sentences"][1]

"""Everything that a page can change, by the API; and rules as code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.alerts.models import Channel
from dashboard.models import Membership, Role
from ingest.models import Project
from tests.integration.alerts.receivers import Receiver

pytestmark = pytest.mark.django_db
API = "/api/v1"
RULE = {"name": "slow", "of": "runs.wall", "above": "5s", "for": "2m", "group_by": "service"}


def ask(method: str, path: str, told: Any = None, client: Client | None = None) -> Any:
    call = getattr(client or Client(), method)
    return call(f"{API}{path}") if told is None else call(f"{API}{path}", told, content_type="application/json")


def test_rules_are_made_changed_shown_and_removed(project: Project) -> None:
    made = ask("post", "/alerts/rules", RULE)
    assert made.status_code == 201, made.content
    path = f"/alerts/rules/{made.json()['id']}"
    assert made.json()["rule"] == RULE
    assert ask("put", path, RULE | {"above": "7s"}).json()["rule"]["above"] == "7s"
    assert [one["rule"]["name"] for one in ask("get", "/alerts/rules").json()["rules"]] == ["slow"]
    assert ask("delete", path).status_code == 204
    assert ask("get", path).status_code == 404


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"of": "runs.wall", "above": "5s"}, "a name is"),
        (RULE | {"below": "1s"}, "say when it fires, by one of"),
        (RULE | {"above": "five"}, "is no time: write it like"),
        (RULE | {"of": "runs.speed"}, "expected a measure such as"),
        (RULE | {"stat": "p42"}, "there is p50, p90, p95, p99, mean"),
        (RULE | {"group_by": "tool"}, "only tools.* can be grouped by tool"),
        (RULE | {"where": {"colour": "red"}}, "where takes service"),
        (RULE | {"where": {"service": "a"}}, "is one value already"),
        (RULE | {"surprise": 1}, "a rule has no surprise"),
        (RULE | {"window": "90s"}, "whole minutes"),
        (RULE | {"severity": "awful"}, "severity is one of critical"),
        ({"name": "b", "burns": {"slo": "none"}}, "there are none yet"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_in_words(project: Project, told: dict[str, Any], said: str) -> None:
    refused = ask("post", "/alerts/rules", told)
    assert refused.status_code == 422
    assert said in refused.json()["detail"]


def test_an_objective_is_kept_while_a_rule_burns_it(project: Project) -> None:
    made = ask("post", "/alerts/objectives", {"name": "fast", "good": "runs.wall", "at_most": "5s", "target": "99%"})
    assert made.status_code == 201, made.content
    assert made.json()["share"] is None
    ask("post", "/alerts/rules", {"name": "burning", "burns": {"slo": "fast"}})
    path = f"/alerts/objectives/{made.json()['id']}"
    assert "is named by the rule burning" in ask("delete", path).json()["detail"]


def test_a_channel_is_tried_and_its_secret_never_told(project: Project, receiver: Receiver) -> None:
    made = ask("post", "/alerts/channels", {"notifier": "webhook", "name": "hook", "url": receiver.url, "secret": "s3"})
    assert made.status_code == 201, made.content
    assert "s3" not in json.dumps(ask("get", "/alerts/channels").json())
    assert b"s3" not in bytes(Channel.objects.get().secret or b"")
    assert ask("post", "/alerts/channels/test", {"channel_id": made.json()["id"]}).status_code == 204
    assert receiver.got[0].told["title"].startswith("Test: A test from alpha")
    receiver.answers = [500]
    failed = ask("post", "/alerts/channels/test", {"channel_id": made.json()["id"]})
    assert (failed.status_code, failed.json()["detail"]) == (502, "answers 500: ok")


def test_silences_are_made_and_ended(project: Project) -> None:
    made = ask("post", "/silences", {"matchers": "service=shop", "for": "2h", "comment": "deploy"})
    assert made.status_code == 201, made.content
    assert made.json()["holds"]
    path = f"/silences/{made.json()['id']}"
    assert ask("delete", path).status_code == 204
    assert ask("get", "/silences").json() == {"silences": []}
    assert not ask("get", path).json()["holds"]
    assert "such as service=support" in ask("post", "/silences", {"matchers": "", "for": "2h"}).json()["detail"]


@pytest.mark.parametrize("path", ["/alerts/rules", "/alerts/channels", "/silences", "/alerts/objectives"])
def test_who_only_reads_changes_nothing(project: Project, settings: Any, path: str) -> None:
    settings.SIXSTAGE_OPEN = False
    user = User.objects.create_user("reader")
    Membership.objects.create(project=project, user=user, role=Role.VIEWER)
    client = Client()
    client.force_login(user)
    told = {"/silences": {"matchers": "a=b", "for": "1h"}, "/alerts/channels": {"name": "x"}}.get(path, RULE)
    assert ask("get", path, client=client).status_code == 200
    assert ask("post", path, told, client=client).status_code == 403


FILE = """
objectives:
- {name: fast, good: runs.wall, at_most: 5s, target: 99%}
rules:
- {name: slow, of: runs.wall, above: 5s, for: 2m, group_by: service, note: See the runbook.}
- {name: burning, burns: {slo: fast}, severity: critical}
mute_times:
- {name: Nights, matchers: severity!=critical, days: "mon, tue", from: 22:00, to: "07:00", zone: Europe/Berlin}
"""


def put(text: str) -> Any:
    return Client().put(f"{API}/alerts/code", text, content_type="application/yaml")


def test_a_file_taken_twice_changes_nothing_and_is_told_as_it_was(project: Project) -> None:
    first = put(FILE)
    assert first.status_code == 200, first.content
    assert len(first.json()["made"]) == 4
    assert put(FILE).json() == {"made": [], "changed": [], "removed": [], "same": 4}
    told = Client().get(f"{API}/alerts/code").content.decode()
    assert put(told).json()["same"] == 4


def test_what_a_file_no_longer_lists_goes_and_what_a_person_made_stays(project: Project) -> None:
    put(FILE)
    ask("post", "/alerts/rules", RULE | {"name": "mine"})
    gone = put("rules:\n- {name: slow, of: runs.wall, above: 6s}\n").json()
    assert gone["changed"] == ["rule slow"]
    assert gone["removed"] == ["rule burning", "mute time Nights", "objective fast"]
    assert [one["rule"]["name"] for one in ask("get", "/alerts/rules").json()["rules"]] == ["mine", "slow"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: [", "this is no YAML"),
        ("- a", "a file holds objectives, rules, mute_times"),
        ("rules: [{of: runs.wall}]", "each has a name"),
        (FILE + "- {name: Nights}\n", "lists Nights twice"),
        (FILE.replace("above: 5s", "above: high"), "is no time"),
    ],
)
def test_a_file_with_a_mistake_changes_nothing(project: Project, text: str, said: str) -> None:
    refused = put(text)
    assert refused.status_code == 422
    assert said in refused.json()["detail"]
    assert ask("get", "/alerts/rules").json() == {"rules": []}

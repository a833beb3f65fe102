"""The status page: what is wrong in plain words, and the traces that a person has to let try again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from ingest import live
from ingest.leases import MAX_TRIES
from ingest.models import DirtyTrace, Process, Project
from ingest.observing import refusals
from ingest.observing.exports import Export
from ingest.observing.refusals import REFUSED
from ingest.observing.reporter import Reporter
from tests.integration.access.scenes import Side, make_side

pytestmark = pytest.mark.django_db(transaction=True)

SECOND_NS = 10**9


@pytest.fixture
def alpha(settings: Any) -> Side:
    settings.SIXSTAGE_OPEN = False
    return make_side("alpha")


@pytest.fixture
def everybody_speaks(database_url: str, settings: Any, valkey: redis.Redis) -> Iterator[None]:
    live.beat()
    live.tick()
    for role in ("web", "receiver", "worker"):
        reporter = Reporter(role, database_url, settings.SIXSTAGE_REDIS_URL)
        reporter.flush()
        reporter.close()
    yield
    valkey.delete(live.BEAT_KEY, live.CLOCK_KEY)


def signed_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def page(side: Side) -> str:
    response = signed_in(side.admin).get("/status")
    assert response.status_code == 200
    return str(response.content.decode())


def poison(project: Project, number: int = 1, **fields: Any) -> DirtyTrace:
    now_ns = time.time_ns()
    usual = {
        "trace_id": bytes([number]) * 16, "project_id": project.pk, "day": timezone.now().date(), "tries": MAX_TRIES,
        "received_unix_ns": now_ns, "due_unix_ns": now_ns, "error": f"ValueError: no {number}",
    }  # fmt: skip
    return DirtyTrace.objects.create(**usual | fields)


def test_only_administrators_see_it(alpha: Side) -> None:
    assert signed_in(alpha.viewer).get("/status").status_code == 403
    assert signed_in(alpha.viewer).get("/status/body").status_code == 403
    assert Client(headers={"authorization": f"Bearer {alpha.token_secret}"}).get("/status").status_code == 403
    assert 'href="/status"' not in signed_in(alpha.viewer).get("/live").content.decode()
    assert 'href="/status"' in signed_in(alpha.admin).get("/live").content.decode()


@pytest.mark.usefixtures("everybody_speaks")
def test_when_all_is_well_it_says_so(alpha: Side) -> None:
    assert "Every process speaks" in page(alpha)


@pytest.mark.usefixtures("everybody_speaks")
@pytest.mark.parametrize(("role", "words"), [("worker", "No worker runs"), ("receiver", "No receiver runs")])
def test_a_missing_process_is_named_with_what_it_means(alpha: Side, role: str, words: str) -> None:
    Process.objects.filter(role=role).delete()
    assert words in page(alpha)


@pytest.mark.usefixtures("everybody_speaks")
def test_a_clock_that_nobody_hears_is_named_with_what_waits_for_it(alpha: Side, valkey: redis.Redis) -> None:
    valkey.delete(live.CLOCK_KEY)
    assert "No worker hears the clock" in page(alpha)


@pytest.mark.usefixtures("everybody_speaks")
def test_a_process_that_was_killed_is_named(alpha: Side) -> None:
    Process.objects.filter(role="worker").update(seen_unix_ns=time.time_ns() - 60 * SECOND_NS)
    shown = page(alpha)
    assert "ended without saying so" in shown
    assert "Silent for" in shown


def test_without_valkey_it_says_what_that_means(alpha: Side, settings: Any) -> None:
    settings.SIXSTAGE_REDIS_URL = "unix:///nonexistent"
    shown = page(alpha)
    assert "Valkey does not answer" in shown
    assert "Unknown: Valkey, which keeps them" in shown
    assert "last sweep of a worker unknown" in shown


@pytest.mark.usefixtures("everybody_speaks")
def test_being_behind_is_told_with_the_oldest(alpha: Side) -> None:
    poison(alpha.project, tries=0, error="", due_unix_ns=time.time_ns() - 300 * SECOND_NS)
    assert "Decomposition is behind: 1 trace waiting, the oldest for 5" in page(alpha)


@pytest.mark.usefixtures("everybody_speaks")
def test_what_waits_for_more_of_itself_is_due_and_not_to_be_tried_again(alpha: Side) -> None:
    soon_ns = time.time_ns() + 300 * SECOND_NS
    poison(alpha.project, 1, tries=0, error="", due_unix_ns=soon_ns)
    poison(alpha.project, 2, tries=2, error="ValueError", due_unix_ns=soon_ns)
    assert "0 in work, 1 due, 1 to be tried again, 0 given up" in page(alpha)


@pytest.mark.usefixtures("everybody_speaks")
def test_a_poison_trace_is_shown_with_its_reason_and_tried_again_at_a_click(alpha: Side) -> None:
    poison(alpha.project, 1, error="RecursionError: <script>alert(1)</script>")
    poison(alpha.project, 2, error="")
    shown = page(alpha)
    assert "2 traces given up" in shown
    assert "RecursionError: &lt;script&gt;" in shown
    assert "Each worker that took it died" in shown
    signed_in(alpha.admin).post("/status/again?project=alpha", {"trace_id": "01" * 16})
    left = {bytes(mark.trace_id)[0]: mark for mark in DirtyTrace.objects.all()}
    assert (left[1].tries, left[1].error) == (0, "")
    assert left[1].due_unix_ns <= time.time_ns()
    assert left[2].tries == MAX_TRIES


def test_all_of_a_project_and_no_other_are_tried_again(alpha: Side) -> None:
    beta = make_side("beta")
    for number, side in enumerate((alpha, alpha, beta)):
        poison(side.project, number + 1)
    shown = page(alpha)
    assert "ValueError: no 1" in shown
    assert "ValueError: no 3" not in shown
    answer = signed_in(alpha.admin).post("/status/again?project=alpha", follow=True)
    assert "2 traces will be tried again." in answer.content.decode()
    assert sorted(DirtyTrace.objects.values_list("project_id", "tries")) == sorted(
        [(alpha.project.pk, 0), (alpha.project.pk, 0), (beta.project.pk, MAX_TRIES)]
    )
    signed_in(alpha.admin).post("/status/again?project=alpha", {"trace_id": "03" * 16})
    assert DirtyTrace.objects.get(project_id=beta.project.pk).tries == MAX_TRIES


def test_a_trace_that_is_being_decomposed_is_left_alone(alpha: Side) -> None:
    poison(alpha.project, claimed_until_unix_ns=time.time_ns() + 30 * SECOND_NS)
    signed_in(alpha.admin).post("/status/again?project=alpha")
    assert DirtyTrace.objects.get().tries == MAX_TRIES


@pytest.mark.parametrize("given", ["x", "0" * 31, "\x00", "é" * 32, "0" * 5000])
def test_a_trace_id_that_is_none_changes_nothing(alpha: Side, given: str) -> None:
    poison(alpha.project)
    assert signed_in(alpha.admin).post("/status/again?project=alpha", {"trace_id": given}).status_code == 302
    assert DirtyTrace.objects.get().tries == MAX_TRIES


def test_nobody_else_lets_traces_try_again(alpha: Side) -> None:
    poison(alpha.project)
    token = Client(headers={"authorization": f"Bearer {alpha.token_secret}"})
    for client in (signed_in(alpha.viewer), token, signed_in(alpha.admin, enforce_csrf_checks=True)):
        assert client.post("/status/again?project=alpha").status_code == 403
    assert signed_in(alpha.admin).get("/status/again?project=alpha").status_code == 302
    assert DirtyTrace.objects.get().tries == MAX_TRIES


def test_refused_requests_are_shown_to_those_whose_they_are(alpha: Side, valkey: redis.Redis) -> None:
    beta = make_side("beta")
    for side, agent in ((alpha, "agent-of-alpha"), (beta, "agent-of-beta")):
        headers = {"x-api-key": side.key_secret, "user-agent": agent}
        export = Export(None, "/v1/traces", headers, "10.0.0.7")
        export.project_id = side.project.pk
        export.refused("bad_data", "the body is not JSON")
    Export(None, "/v1/traces", {"x-api-key": "sxi_gone1234"}, "10.0.0.8").refused("no_key", "unknown or revoked")
    refusals.keep(valkey, REFUSED.take())
    for address in ("/status", "/settings/"):
        shown = signed_in(alpha.admin).get(address).content.decode()
        assert "agent-of-alpha" in shown
        assert f"key of alpha ({alpha.key.hint}…)" in shown
        assert "unknown key sxi_gone…" in shown
        assert "agent-of-beta" not in shown
        assert alpha.key_secret not in shown
    assert "agent-of-alpha" not in signed_in(alpha.viewer).get("/settings/").content.decode()


def test_a_revoked_key_is_recognised_by_its_beginning(alpha: Side, valkey: redis.Redis) -> None:
    alpha.key.revoked_at = timezone.now()
    alpha.key.save()
    Export(None, "/v1/traces", {"x-api-key": alpha.key_secret}, "").refused("no_key", "unknown or revoked")
    refusals.keep(valkey, REFUSED.take())
    assert "is it revoked or cut?" in page(alpha)

"""Each notifier against a real receiver of its kind: what arrives, and what becomes of refusals and breaks."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard.alerts.bundling import bundle_due
from dashboard.alerts.channels import ChannelRefused, save_channel
from dashboard.alerts.models import Notification
from dashboard.alerts.notifiers import NOTIFIERS
from dashboard.alerts.notifiers.webhook import signature
from dashboard.alerts.sending import GIVE_UP_NS, send_due
from ingest.models import Project
from tests.integration.alerts.conftest import MINUTE_NS, NOON, SECOND_NS, Make, Traffic, ticks
from tests.integration.alerts.receivers import MailServer, Receiver
from tests.polling import until
from tests.ports import free_port

pytestmark = pytest.mark.django_db


@pytest.fixture
def incident(traffic: Traffic, rule: Make) -> None:
    """Slow from ten past noon to twenty past."""
    traffic(0, 10)
    traffic(10, 20, wall_s=9.0)
    traffic(20, 26)
    rule(group_by="service", severity="critical", note="Call <b>Ada</b>.")


def test_a_webhook_is_signed_over_its_time_and_body(channel: Make, incident: None, receiver: Receiver) -> None:
    channel(url=receiver.url, secret="a shared secret")
    ticks(8, 15)
    (got,) = receiver.got
    at_s = int(got.headers["x-sixstage-signature"].partition(",")[0].removeprefix("t="))
    assert got.headers["x-sixstage-signature"] == signature("a shared secret", at_s, got.body)
    assert got.headers["idempotency-key"] == got.told["id"] == str(Notification.objects.get().pk)


def test_slack_gets_sentences_and_links_with_nothing_to_interpret(
    channel: Make, incident: None, receiver: Receiver
) -> None:
    channel("slack", secret=f"{receiver.url}/services/T0/B0/x")
    ticks(8, 15)
    (got,) = receiver.got
    assert got.path == "/services/T0/B0/x"
    (attachment,) = got.told["attachments"]
    assert attachment["title"].startswith("Firing: Wall time p95 of shop is 9.")
    assert attachment["text"].count("<http") == 5
    assert "stage" not in attachment["title"]


def test_pagerduty_triggers_and_resolves_under_one_key(channel: Make, incident: None, receiver: Receiver) -> None:
    channel("pagerduty", secret="R0UT1NG", url=receiver.url)
    ticks(8, 26)
    trigger, resolve = (got.told for got in receiver.got)
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"]
    assert trigger["routing_key"] == "R0UT1NG"
    assert trigger["payload"]["severity"] == "critical"


def test_a_mail_says_it_in_text_and_html_under_one_id(channel: Make, incident: None, mail: MailServer) -> None:
    channel("email", to="ada@example.org, Bob <bob@example.org>")
    mail.refusals = ["451 try again"]
    ticks(8, 14)
    assert mail.got == []
    (waiting,) = Notification.objects.all()
    assert "451" in waiting.error
    send_due(waiting.due_unix_ns)
    (got,) = mail.got
    assert got["Message-ID"] == f"<{waiting.pk}@127.0.0.1>"
    assert got["To"] == "ada@example.org, Bob <bob@example.org>"
    assert got["Subject"].startswith("Firing: Wall time p95 of shop is 9.")
    text, html = (part.get_content() for part in got.iter_parts())
    assert "What to do: Call <b>Ada</b>." in text
    assert "Call &lt;b&gt;Ada&lt;/b&gt;." in html
    assert text.count("http") == 6


def test_without_a_mail_server_a_mail_fails_for_good_and_says_so(channel: Make, incident: None, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    channel("email", to="ada@example.org")
    ticks(8, 15)
    (gone,) = Notification.objects.all()
    assert gone.given_up_unix_ns
    assert "SIXSTAGE_SMTP_HOST" in gone.error


def test_a_receiver_in_trouble_is_tried_again_later_each_time_under_the_same_id(
    channel: Make, incident: None, receiver: Receiver
) -> None:
    channel(url=receiver.url)
    receiver.answers = [503, None, 429]
    ticks(8, 14)
    waits = []
    for _ in range(3):
        notification = Notification.objects.get()
        assert notification.sent_unix_ns is None
        waits.append(notification.due_unix_ns)
        assert send_due(notification.due_unix_ns - 1) == []
        send_due(notification.due_unix_ns)
    assert Notification.objects.get().sent_unix_ns
    assert [after - before for before, after in pairwise(waits)] == [20 * SECOND_NS, 40 * SECOND_NS]
    assert len({got.headers["idempotency-key"] for got in receiver.got}) == 1
    assert len({got.body for got in receiver.got}) == 1


def test_retry_after_is_kept_to(channel: Make, incident: None, receiver: Receiver) -> None:
    channel(url=receiver.url)
    receiver.answers, receiver.retry_after = [429], "300"
    ticks(8, 14)
    notification = Notification.objects.get()
    assert notification.due_unix_ns == NOON + 13 * MINUTE_NS + 30 * SECOND_NS + 300 * SECOND_NS


@pytest.mark.parametrize(("answer", "said"), [(404, "answers 404"), (410, "answers 410"), (302, "answers 302")])
def test_what_will_never_be_taken_is_given_up_at_once(
    channel: Make, incident: None, receiver: Receiver, answer: int, said: str
) -> None:
    channel(url=receiver.url)
    receiver.answers = [answer]
    ticks(8, 14)
    gone = Notification.objects.get()
    assert gone.given_up_unix_ns
    assert said in gone.error
    assert send_due(gone.due_unix_ns + MINUTE_NS) == []


def test_after_a_day_of_trying_it_is_given_up(channel: Make, incident: None) -> None:
    channel(url=f"http://127.0.0.1:{free_port()}/")
    ticks(8, 14)
    notification = Notification.objects.get()
    assert "nobody answers there" in notification.error
    send_due(notification.made_unix_ns + GIVE_UP_NS + 1)
    assert Notification.objects.get().given_up_unix_ns


def test_targets_obey_the_address_guard(project: Project, incident: None, settings: Any) -> None:
    with pytest.raises(ChannelRefused, match="link-local"):
        save_channel(project, {"name": "x", "notifier": "webhook", "url": "http://169.254.169.254/"})
    save_channel(project, {"name": "x", "notifier": "webhook", "url": "http://localhost:9/"})
    settings.SIXSTAGE_EMBEDDED = False  # which closes this machine's own addresses
    ticks(8, 14)
    gone = Notification.objects.get()
    assert gone.given_up_unix_ns
    assert "SIXSTAGE_ALLOWED_TARGETS" in gone.error


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    found = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if found is None:
        pytest.skip("no Alertmanager here: neither prometheus-alertmanager nor alertmanager is on the PATH")
    config = tmp_path / "alertmanager.yml"
    config.write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    port = free_port()
    log = (tmp_path / "log").open("wb")
    server = subprocess.Popen(
        [found, f"--config.file={config}", f"--storage.path={tmp_path / 'data'}", "--cluster.listen-address=",
         f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: _ready(url), 30, "the Alertmanager is ready")
        yield url
    finally:
        server.kill()
        server.wait()
        log.close()


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/-/ready", timeout=5).status_code == 200
    except httpx.TransportError:
        return False


def test_a_real_alertmanager_takes_it_and_its_end(
    channel: Make, incident: None, alertmanager: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The Alertmanager has a clock of its own, which is years after that of the test.
    monkeypatch.setattr("dashboard.alerts.notifiers.alertmanager.FIRES_ON_S", 10**9)
    channel("alertmanager", url=alertmanager)
    ticks(8, 15)
    assert Notification.objects.get().error == ""
    (alert,) = httpx.get(f"{alertmanager}/api/v2/alerts").json()
    assert alert["labels"]["service"] == "shop"
    assert alert["annotations"]["summary"].startswith("Wall time p95 of shop is 9.")
    assert alert["status"]["state"] == "active"
    ticks(15, 26)
    until(lambda: httpx.get(f"{alertmanager}/api/v2/alerts").json() == [], 10, "the alert has ended")


def test_every_notifier_says_what_it_is_and_is_documented() -> None:
    docs = (Path(__file__).resolve().parents[3] / "docs" / "alerts.md").read_text()
    for notifier in NOTIFIERS.values():
        assert notifier.label in docs
        assert notifier.summary
        assert all(field.label for field in notifier.fields)


def test_one_message_tells_of_all_that_belongs_together(
    channel: Make, traffic: Traffic, rule: Make, receiver: Receiver
) -> None:
    traffic(5, 20, wall_s=9.0, each=25)
    traffic(5, 20, wall_s=9.0, each=25, service="desk")
    rule(group_by="service", wait="1m")
    channel(url=receiver.url)
    ticks(6, 14)
    bundle_due(NOON + 14 * MINUTE_NS)
    send_due(NOON + 14 * MINUTE_NS)
    (got,) = receiver.got
    assert got.told["title"].startswith("2 firing: ")
    assert {alert["labels"]["service"] for alert in got.told["alerts"]} == {"shop", "desk"}

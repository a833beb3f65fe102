"""A report is kept and sent once: whatever crashes, whoever asks again, by a real mail server."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from email.message import EmailMessage
from io import StringIO
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from dashboard.reports import sending
from dashboard.reports.core.weeks import Week
from dashboard.reports.forms import mail as mail_form
from dashboard.reports.models import KeptReport, OwedMail, Schedule
from dashboard.reports.schedules import ScheduleRefused, set_schedule
from dashboard.reports.sending import LEASE_NS, PAUSES_S, keep_due, send_due
from dashboard.reports.storing import show_report
from ingest.models import Project
from tests.integration.alerts.receivers import MailServer, mailing
from tests.integration.reports.planted import Plan, Traffic

pytestmark = pytest.mark.django_db
SECOND_NS = 10**9
WEEK = Week(2026, 10)
DUE_NS = int(dt.datetime(2026, 3, 9, 7, tzinfo=ZoneInfo("Europe/Zurich")).timestamp()) * SECOND_NS


@pytest.fixture
def mail(settings: Any) -> Iterator[MailServer]:
    with mailing(settings, "Sixstage <reports@sixstage.example.org>") as server:
        yield server


@pytest.fixture
def traffic(project: Project) -> Traffic:
    """Two weeks of traffic, the second slower, for a project whose report goes to two people on Mondays at seven."""
    traffic = Traffic(project, seed=1, runs_a_week=200)
    traffic.write(WEEK.shifted(-1), Plan(cause=None))
    traffic.write(WEEK, Plan(cause="x", service="support", changed={"tool_ms": 9000}))
    set_schedule(project, enabled=True, weekday="0", hour="7", recipients="pm@example.org, team@example.org")
    Schedule.objects.update(since=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    return traffic


def part(message: EmailMessage, kind: str) -> list[EmailMessage]:
    return [p for p in message.walk() if p.get_content_type() == kind]  # type: ignore[misc]


def test_at_its_hour_each_recipient_gets_one_mail_with_text_html_pictures_and_pdf(
    traffic: Traffic, mail: MailServer
) -> None:
    assert keep_due(DUE_NS - 1) == 0
    assert (keep_due(DUE_NS), keep_due(DUE_NS), keep_due(DUE_NS + SECOND_NS)) == (1, 0, 0)
    for _ in range(3):
        send_due()

    assert sorted(message["To"] for message in mail.got) == ["pm@example.org", "team@example.org"]
    first, second = mail.got
    assert first["Message-ID"] != second["Message-ID"]
    assert first["Subject"].strip().startswith("Alpha, week 10: ")
    kept = show_report(traffic.project, WEEK, DUE_NS).report
    (html,), (text,) = part(first, "text/html"), part(first, "text/plain")
    shown = " ".join(text.get_content().split())  # lines are broken
    assert kept.headline.text.replace("\u202f", " ") in shown.replace("\u202f", " ")
    pictures = {picture["Content-ID"].strip("<>"): picture for picture in part(first, "image/png")}
    assert set(pictures) == {"days", "stages"}
    for name, picture in pictures.items():
        assert f'src="cid:{name}"' in html.get_content()
        assert picture.get_content().startswith(b"\x89PNG")
        assert picture.get_content_disposition() == "inline"
    (pdf,) = part(first, "application/pdf")
    assert pdf.get_content().startswith(b"%PDF")
    assert pdf.get_filename() == "alpha-2026-W10.pdf"
    assert "http" not in html.get_content().replace("http://127.0.0.1", "").replace("<!doctype html>", "")


def test_a_worker_that_dies_after_the_server_took_the_mail_sends_it_again_under_the_same_id(
    traffic: Traffic, mail: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_due(DUE_NS)
    OwedMail.objects.filter(recipient="team@example.org").delete()

    def die(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sending, "_moment", die)
        with pytest.raises(KeyboardInterrupt):
            send_due(lambda: DUE_NS)
    assert len(mail.got) == 1
    assert send_due(lambda: DUE_NS + LEASE_NS) == []  # the lease is still the dead one's
    assert len(send_due(lambda: DUE_NS + LEASE_NS + 1)) == 1
    assert send_due(lambda: DUE_NS + 10 * LEASE_NS) == []

    again, once = mail.got
    assert again["Message-ID"] == once["Message-ID"]
    assert again["Date"] == once["Date"]


def test_two_workers_at_once_send_it_once(traffic: Traffic, mail: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second looks while the first has it in hand."""
    keep_due(DUE_NS)
    send = mail_form.write_mail
    seen: list[list[OwedMail]] = []

    def write_and_look(owed: OwedMail, url: str) -> Any:
        mine = OwedMail.objects.get(pk=owed.pk)
        assert mine.claimed_until_unix_ns == DUE_NS + LEASE_NS
        seen.append([m for m in OwedMail.objects.filter(pk=owed.pk) if sending._claim(m, DUE_NS)])
        return send(owed, url)

    monkeypatch.setattr(mail_form, "write_mail", write_and_look)
    send_due(lambda: DUE_NS)
    assert seen == [[], []]
    assert len(mail.got) == 2


def test_a_server_that_says_later_is_asked_later_and_one_that_says_never_is_not(
    traffic: Traffic, mail: MailServer
) -> None:
    keep_due(DUE_NS)
    mail.refusals = ["451 try again", "550 no such person"]
    send_due(lambda: DUE_NS)
    assert send_due(lambda: DUE_NS + 1) == []
    (again,) = send_due(lambda: DUE_NS + PAUSES_S[0] * SECOND_NS)

    assert [m["To"] for m in mail.got] == [again.recipient]
    states = {m.recipient: (m.sent_at is not None, m.gave_up_at is not None) for m in OwedMail.objects.all()}
    assert sorted(states.values()) == [(False, True), (True, False)]
    assert OwedMail.objects.get(sent_at=None).error.startswith("SMTPDataError")


def test_without_a_mail_server_nothing_is_kept_yet(traffic: Traffic, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    assert (keep_due(DUE_NS), send_due()) == (0, [])
    assert not KeptReport.objects.exists()


def test_what_was_sent_stays_and_says_what_later_data_would_change(
    traffic: Traffic, mail: MailServer, settings: Any
) -> None:
    keep_due(DUE_NS)
    sent = show_report(traffic.project, WEEK, DUE_NS)
    assert (sent.later, sent.sent_unix_ns is not None) == ([], True)
    traffic.write(WEEK, Plan(cause=None))  # twice the runs

    later = show_report(traffic.project, WEEK, DUE_NS)
    assert later.report == sent.report
    assert "runs 200 to 400" in later.later[0]
    assert show_report(traffic.project, WEEK, DUE_NS, anew=True).report.runs_after == 400

    settings.SIXSTAGE_OPEN = True
    page = Client().get("/reports/2026-W10").content.decode()
    assert "Data that came later would change this: runs 200 to 400" in page
    told = Client().get("/api/v1/reports/2026-W10").json()
    assert (told["runs_after"], told["later"]) == (200, later.later)
    assert Client().get("/api/v1/reports/2026-W10?anew=1").json()["runs_after"] == 400


def test_by_hand_a_dry_run_keeps_and_sends_nothing_and_a_real_one_once(traffic: Traffic, mail: MailServer) -> None:
    out = StringIO()
    call_command("weekly_report", "--project=alpha", "--week=2026-W10", "--dry-run", stdout=out)
    assert "Week 10, 2 to 8 March 2026" in out.getvalue()
    assert (KeptReport.objects.count(), mail.got) == (0, [])

    for _ in range(2):
        call_command("weekly_report", "--project=alpha", "--week=2026-W10", "--to=boss@example.org", stdout=out)
    assert [m["To"] for m in mail.got] == ["boss@example.org"]
    for wrong in (["--week=2026-W99"], ["--week=2026-W10", "--to=nobody"], ["--project=none"]):
        with pytest.raises(CommandError):
            call_command("weekly_report", *wrong, stdout=out)


@pytest.mark.parametrize(
    "typed", ["pm@", "a b@example.org,", "pm@example.org\r\nBcc: x@example.org", "@", "x" * 255 + "@y.z"]
)
def test_what_is_no_address_is_refused(project: Project, typed: str) -> None:
    with pytest.raises(ScheduleRefused, match="is no e-mail address"):
        set_schedule(project, enabled=True, weekday="0", hour="7", recipients=typed)


def test_the_page_sets_the_schedule_and_tells_what_is_wrong(project: Project, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    given = {"recipients": "pm@example.org", "weekday": "1", "hour": "8", "enabled": "yes"}

    assert Client().post("/settings/reports?project=alpha", given).status_code == 302
    page = Client().get("/reports").content.decode()
    assert "the week before, on Tuesday at 08:00, Europe/Zurich, to 1 person" in page
    wrong = Client().post("/settings/reports?project=alpha", given | {"recipients": ""})
    assert (wrong.status_code, b"Give at least one address" in wrong.content) == (422, True)

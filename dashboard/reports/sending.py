"""Mails that are owed, sent once: the row is the truth. It is claimed by a lease, sent, and marked; who dies in between
leaves it claimed, and after the lease it goes out again under the same Message-ID, by which receivers know it."""

from __future__ import annotations

import datetime as dt
import logging
import smtplib
from collections.abc import Callable
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import F

from dashboard.reports.making import make_report
from dashboard.reports.models import KeptReport, OwedMail
from dashboard.reports.schedules import due_schedules
from dashboard.reports.storing import keep_report
from ingest.clock import shared_now_ns

log = logging.getLogger(__name__)

SECOND_NS = 10**9
LEASE_NS = 120 * SECOND_NS
PAUSES_S = (60, 300, 1800, 3600, 3600, 7200, 14_400, 28_800)
AT_ONCE = 50


def keep_due(now_ns: int) -> int:
    """Keep the reports whose hour has come, with the mails that they owe; how many were kept anew. Without a mail
    server they wait, as long as they are news."""
    kept = 0
    if not settings.EMAIL_HOST:
        return kept
    for schedule, week in due_schedules(now_ns):
        if KeptReport.objects.filter(project=schedule.project, week=str(week)).exists():
            continue
        report = make_report(schedule.project, week, now_ns)
        keep_report(report, schedule.project, schedule.recipients, public_host())
        kept += 1
    return kept


def send_due(now: Callable[[], int] = shared_now_ns) -> list[OwedMail]:
    """Send what is owed and due, one by one; those that were tried. Without a mail server all waits."""
    if not settings.EMAIL_HOST:
        return []
    now_ns = now()
    due = OwedMail.objects.filter(
        sent_at=None, gave_up_at=None, due_unix_ns__lte=now_ns, claimed_until_unix_ns__lt=now_ns
    ).order_by("due_unix_ns", "pk")[:AT_ONCE]  # fmt: skip
    tried = []
    for mail in due.select_related("report__project"):
        if _claim(mail, now()):
            _send(mail, now())
            tried.append(mail)
    return tried


def _claim(mail: OwedMail, now_ns: int) -> bool:
    """Whether it is this worker's to send: nobody else holds it and it is not sent meanwhile."""
    free = OwedMail.objects.filter(pk=mail.pk, sent_at=None, gave_up_at=None, claimed_until_unix_ns__lt=now_ns)
    claimed = free.update(claimed_until_unix_ns=now_ns + LEASE_NS, tries=F("tries") + 1) == 1
    if claimed:
        mail.refresh_from_db(fields=["tries"])
    return claimed


def _send(mail: OwedMail, now_ns: int) -> None:
    # What draws PDFs and pictures takes 10 MB, in each process that has loaded it, for one hour of a week.
    from dashboard.reports.forms.mail import write_mail

    try:
        write_mail(mail, settings.CONFIG.public_url).send()
    except (smtplib.SMTPException, OSError) as error:
        _note_failure(mail, error, now_ns)
    else:
        OwedMail.objects.filter(pk=mail.pk).update(sent_at=_moment(now_ns), error="")


def _note_failure(mail: OwedMail, error: Exception, now_ns: int) -> None:
    """Tried again, each time later; given up where the server says never, or after nearly a day."""
    reason = f"{type(error).__name__}: {error}".replace("\x00", "")[:500]
    log.warning("report %s to %s: %s", mail.report.week, mail.recipient, reason)
    done = is_permanent(error) or mail.tries > len(PAUSES_S)
    pause_s = PAUSES_S[min(mail.tries, len(PAUSES_S)) - 1]
    OwedMail.objects.filter(pk=mail.pk).update(
        error=reason, claimed_until_unix_ns=0, due_unix_ns=now_ns + pause_s * SECOND_NS,
        gave_up_at=_moment(now_ns) if done else None,
    )  # fmt: skip


def is_permanent(error: Exception) -> bool:
    """A server's 5xx to this mail or its only recipient."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return all(code >= 500 for code, _ in error.recipients.values())
    return isinstance(error, smtplib.SMTPDataError | smtplib.SMTPSenderRefused) and error.smtp_code >= 500


def public_host() -> str:
    return urlsplit(settings.CONFIG.public_url).hostname or "localhost"


def _moment(unix_ns: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(unix_ns / 1e9, dt.UTC)

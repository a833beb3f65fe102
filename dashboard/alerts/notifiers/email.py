"""E-mail by the SMTP server of the instance's settings: text and HTML, with the stage in its colour."""

from __future__ import annotations

import asyncio
import smtplib
from email.utils import parseaddr
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string

from dashboard.alerts.notifiers.registry import Field, Message, Post, SendFailed, Target, notifier

MOST = 50


def read_recipients(text: str) -> list[str]:
    """Raises SendFailed for what is no list of addresses."""
    found = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
    if not 0 < len(found) <= MOST:
        raise SendFailed(f"give 1 to {MOST} addresses, commas between", permanent=True)
    for one in found:
        address = parseaddr(one)[1]
        name, _, host = address.rpartition("@")
        if not name or not host or not one.isprintable() or any(mark.isspace() for mark in address):
            raise SendFailed(f"{one[:60]!r} is no e-mail address", permanent=True)
    return found


@notifier("email", label="E-mail", fields=(Field(name="to", label="To", hint="addresses, commas between"),))
async def send(message: Message, target: Target, _: Post) -> None:
    """A text and an HTML part. The Message-ID is the same at every try, so mail programs show it once."""
    if not settings.EMAIL_HOST:
        raise SendFailed("no mail server is set: give SIXSTAGE_SMTP_HOST", permanent=True)
    mail = _mail(message, read_recipients(target.options["to"]))
    try:
        await asyncio.to_thread(mail.send)
    except smtplib.SMTPRecipientsRefused as error:
        codes = {code for code, _ in error.recipients.values()}
        raise SendFailed(f"recipients refused: {error.recipients}"[:300], permanent=min(codes) >= 500) from None
    except smtplib.SMTPResponseException as error:
        said = error.smtp_error.decode("utf-8", "replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
        raise SendFailed(f"{error.smtp_code} {said}"[:300], permanent=error.smtp_code >= 500) from None
    except (smtplib.SMTPException, OSError) as error:
        raise SendFailed(f"the mail server cannot be reached: {error}"[:300]) from None


def _mail(message: Message, to: list[str]) -> EmailMultiAlternatives:
    host = urlsplit(settings.CONFIG.public_url).hostname or "localhost"
    context = {"message": message.body, "alerts": message.alerts, "is_firing": message.is_firing}
    mail = EmailMultiAlternatives(
        subject=" ".join(message.title.split())[:200], body=render_to_string("alerts/email.txt", context), to=to,
        from_email=settings.DEFAULT_FROM_EMAIL,
        headers={"Message-ID": f"<{message.id}@{host}>", "Auto-Submitted": "auto-generated",
                 "References": f"<{message.body['thread']}@{host}>"},
    )  # fmt: skip
    mail.attach_alternative(render_to_string("alerts/email.html", context), "text/html")
    return mail

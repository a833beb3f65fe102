"""What workers do for reports. Thin: the rows are the truth, so a lost or doubled wake-up changes nothing."""

from __future__ import annotations

from celery import shared_task

from dashboard.reports.sending import keep_due, send_due
from ingest.clock import shared_now_ns


@shared_task(name="reports.send")
def send() -> None:
    """Keep the reports whose hour has come, and send what is owed."""
    keep_due(shared_now_ns())
    send_due()

"""Celery's side of alerting. A task carries no data: rows say what is due."""

from __future__ import annotations

from celery import shared_task

from dashboard.alerts.bundling import bundle_due, remind
from dashboard.alerts.evaluating import evaluate_due
from dashboard.alerts.sending import send_due
from ingest.clock import shared_now_ns


@shared_task(name="alerts.evaluate")
def evaluate() -> None:
    """Evaluate the rules whose instant has come, and remind of what still fires."""
    now_ns = shared_now_ns()
    evaluate_due(now_ns)
    remind(now_ns)


@shared_task(name="alerts.send")
def send() -> None:
    """Make messages of what waits, and send them."""
    now_ns = shared_now_ns()
    bundle_due(now_ns)
    send_due(now_ns)

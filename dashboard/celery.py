"""The Celery app. Messages are wake-ups only: the rows in PostgreSQL are the truth, so losing all is harmless."""

from __future__ import annotations

import os

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings_behind")

from django.conf import settings

from dashboard.broker import broker_settings

app = Celery("sixstage")
app.conf.update(
    **broker_settings(settings.SIXSTAGE_REDIS_URL),
    worker_consumer="dashboard.patience:PatientConsumer",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    # Folding, training and huge traces leave a process large for ever: it is replaced by a fork of its lean parent
    # after the task. Passes over usual traces stay below.
    worker_max_memory_per_child=130 << 10,  # KiB
    # Else Celery connects anew for each task, to a server process that has read no catalog: dearer than a small pass.
    CELERY_DB_REUSE_MAX=10_000,
)
app.autodiscover_tasks(["ingest", "dashboard.alerts", "dashboard.reports"])


@signals.setup_logging.connect
def leave_logging_to_django(**_: object) -> None:
    """Celery lets be what somebody has connected to: lines look as the settings say, in every process."""


@signals.celeryd_init.connect
def name_worker(**_: object) -> None:
    """The parent of a pool counts nothing; it only names itself in its lines."""
    from ingest.observing.logs import set_role

    set_role("worker")

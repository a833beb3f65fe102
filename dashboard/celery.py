"""The Celery app. Messages are wake-ups only: the rows in PostgreSQL are the truth, so losing all is harmless."""

from __future__ import annotations

import atexit
import os

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

from django.conf import settings


def broker_url(redis_url: str) -> str:
    """Celery's spelling of a Redis URL: ``unix:`` sockets are ``redis+socket:`` there, ``db`` ``virtual_host``."""
    if not redis_url.startswith("unix://"):
        return redis_url
    return redis_url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")


app = Celery("sixstage")
app.conf.update(
    broker_url=broker_url(settings.SIXSTAGE_REDIS_URL),
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_default_queue="sixstage",
    worker_prefetch_multiplier=1,
    worker_hijack_root_logger=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"socket_timeout": 10, "socket_connect_timeout": 2, "visibility_timeout": 3600},
    task_publish_retry=False,
    timezone="UTC",
    beat_schedule={
        "sweep": {"task": "ingest.sweep", "schedule": 2.0, "options": {"expires": 10}},
        "observe": {"task": "ingest.observe", "schedule": 10.0, "options": {"expires": 20}},
        "train-dictionaries": {"task": "ingest.train_dictionaries", "schedule": 20.0, "options": {"expires": 60}},
        "keep-partitions": {
            "task": "ingest.keep_partitions",
            "schedule": 3600.0,
            "options": {"expires": 600},
        },
    },
)
app.autodiscover_tasks(["ingest"])


@signals.setup_logging.connect
def leave_logging_to_django(**_: object) -> None:
    """Celery lets be what somebody has connected to: lines look as the settings say, in every process."""


@signals.celeryd_init.connect
def name_worker(**_: object) -> None:
    """The parent of a pool counts nothing; it only names itself in its lines."""
    from ingest.observing.logs import set_role

    set_role("worker")


@signals.beat_init.connect
def tell_of_beat(**_: object) -> None:
    """Show on the status page that the clock runs, which makes the sweep and everything periodic."""
    from ingest.observing.reporter import Reporter

    reporter = Reporter("beat", settings.SIXSTAGE_DATABASE_URL, settings.SIXSTAGE_REDIS_URL).start()
    atexit.register(reporter.stop)

"""Beat's own Celery app. It sends tasks by name and knows none, so its process reads the settings and loads no
models: half the memory of one that would."""

from __future__ import annotations

import atexit
import os

from celery import Celery, signals

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

from django.conf import settings
from django.utils.log import configure_logging

from dashboard.broker import broker_settings
from dashboard.schedule import SCHEDULE
from ingest.observing.reporter import Reporter

app = Celery("sixstage", fixups=[])  # else Celery sets Django up
app.conf.update(
    **broker_settings(settings.SIXSTAGE_REDIS_URL),
    beat_schedule=SCHEDULE,
)


@signals.setup_logging.connect
def log_as_all_do(**_: object) -> None:
    """Celery lets be what somebody has connected to: lines look as the settings say, here as well."""
    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)


@signals.beat_init.connect
def tell_of_beat(**_: object) -> None:
    """Show on the status page that the clock runs, which makes the sweep and everything periodic."""
    reporter = Reporter("beat", settings.SIXSTAGE_DATABASE_URL, settings.SIXSTAGE_REDIS_URL).start()
    atexit.register(reporter.stop)

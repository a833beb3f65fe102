"""Beat sends tasks by name, in a process that knows none of them."""

import subprocess
import sys

from dashboard import scheduler
from dashboard.celery import app
from tests.instance import ROOT


def test_every_scheduled_task_is_one_that_workers_know() -> None:
    app.loader.import_default_modules()

    assert {entry["task"] for entry in scheduler.app.conf.beat_schedule.values()} <= set(app.tasks)


def test_who_sends_and_who_listens_use_the_same_queue_and_broker() -> None:
    for name in ("broker_url", "task_default_queue", "task_serializer", "accept_content"):
        assert scheduler.app.conf[name] == app.conf[name]


def test_the_scheduler_sets_no_django_up() -> None:
    look = "import dashboard.scheduler, django.apps; print(django.apps.apps.ready)"
    told = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert told == "False\n"

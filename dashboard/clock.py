"""Celery beat inside a worker's main process, which has loaded all that it needs: a process of its own holds 58 MB to
send nine messages in turn.

For an instance with one worker, as `make up` starts it. Where several run, beat is a process of its own
(``dashboard.scheduler``), and there is exactly one. It dies and comes back with the worker; what it sends are wake-ups,
which rows outlive.
"""

from __future__ import annotations

from typing import Any

from celery import Celery, bootsteps
from celery.beat import PersistentScheduler

from dashboard.schedule import SCHEDULE


def keep_time(app: Celery, file: str) -> None:
    """Have the worker of this app keep time as well; ``file`` keeps what was sent when."""
    app.conf.update(beat_schedule=SCHEDULE, beat_schedule_filename=file)
    app.steps["consumer"].add(Clock)


class Clock(bootsteps.StartStopStep):
    """A part of the worker's event loop. It is stopped while the broker is away and then started anew."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **options: Any) -> None:
        super().__init__(consumer, **options)
        self._scheduler: PersistentScheduler | None = None
        self._next: Any = None

    def start(self, consumer: Any) -> None:
        conf = consumer.app.conf
        self._scheduler = PersistentScheduler(consumer.app, schedule_filename=conf.beat_schedule_filename)
        self._tick(consumer)

    def stop(self, _consumer: Any) -> None:
        if self._next is not None:
            self._next.cancel()
        if self._scheduler is not None:
            self._scheduler.close()
        self._scheduler = self._next = None

    shutdown = stop

    def _tick(self, consumer: Any) -> None:
        """Send what is due, and come back when the next is; whatever fails, the clock goes on."""
        pause_s = 1.0
        try:
            while self._scheduler is not None and (pause_s := self._scheduler.tick()) == 0:
                pass
        finally:
            self._next = consumer.timer.call_after(pause_s, self._tick, (consumer,))

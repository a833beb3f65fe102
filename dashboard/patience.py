"""What keeps a worker working, or ends it for another to start, where Celery would do neither."""

from __future__ import annotations

import logging
import os
from threading import Timer
from typing import Any

from celery.worker.consumer import Consumer

STOPS_WITHIN_S = 5.0
log = logging.getLogger(__name__)


class PatientConsumer(Consumer):  # type: ignore[misc]  # Celery has no types
    """Connects anew whatever letting go of the lost connection says.

    kombu 5.7 forgets the transport of a connection that breaks while it polls, and then fails to give back the
    messages that nobody has acknowledged: an AttributeError, which ends a worker. Each message is a wake-up only, so
    there is nothing to give back.
    """

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        try:
            super().on_connection_error_after_connected(exc)
        except Exception:
            log.warning("a lost connection to the broker was not closed in order", exc_info=True)
            self.connection = None


def end_for_good(worker: Any, within_s: float = STOPS_WITHIN_S) -> None:
    """A worker that stops because of an error ends soon, even where a part of it hangs: one that neither works nor ends
    is not started again."""
    stop = worker.stop

    def stop_for_good(in_sighandler: bool = False, exitcode: int | None = None) -> None:
        if exitcode:
            timer = Timer(within_s, os._exit, [exitcode])
            timer.daemon = True
            timer.start()
        stop(in_sighandler, exitcode)

    worker.stop = stop_for_good

"""Waking a worker after a commit. Losing a wake-up loses no work (the sweep finds it), so this never waits,
never fails, and sends one message for many commits."""

from __future__ import annotations

import asyncio
import logging
import time

from celery import current_app

log = logging.getLogger(__name__)

QUIET_S = 0.2  # at most one wake-up in this time: many traces in one pass cost half of what few do
EXPIRES_S = 30  # a wake-up that nobody has heard by then is of no use: the sweep has been there


class Waker:
    """``wake()`` may be called for every commit; the broker hears of it at most every QUIET_S."""

    def __init__(self) -> None:
        self._last = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None

    def wake(self) -> None:
        if self._timer is None:
            delay = max(0.0, self._last + QUIET_S - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(delay, self._send)

    def _send(self) -> None:
        self._timer = None
        self._last = time.monotonic()
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(asyncio.to_thread(publish))
        else:
            self.wake()


def publish() -> None:
    """Say once that there is work. Waits for the broker, never fails."""
    try:
        current_app.send_task("ingest.decompose_traces", expires=EXPIRES_S, retry=False)
    except Exception as error:  # whatever ails the broker, the sweep will find the work
        log.warning("no worker was woken, the sweep will find the work: %s", error)

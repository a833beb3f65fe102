"""Waking a worker after a commit. Losing a wake-up loses no work (the sweep finds it), so this never waits,
never fails, and sends one message for many commits."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from typing import Any

from celery import current_app

log = logging.getLogger(__name__)

QUIET_S = 0.2  # at most one wake-up in this time: many traces in one pass cost half of what few do
EXPIRES_S = 30  # a wake-up that nobody has heard by then is of no use: the sweep has been there


class Waker:
    """``wake()`` may be called for every commit; the broker hears of it at most every QUIET_S."""

    def __init__(self, publish: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._publish = publish or _publish_beside
        self._next_s = -math.inf  # when the broker may hear of something again
        self._wanted_s = -math.inf  # when the last of those is due that somebody has asked for
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None

    def wake(self, after_s: float = 0.0) -> None:
        """There is work, or will be in so many seconds. Of several times asked for, the first and the last are kept."""
        loop = asyncio.get_running_loop()
        at_s = loop.time() + after_s
        self._wanted_s = max(self._wanted_s, at_s)
        if self._timer is not None:
            if self._timer.when() <= max(at_s, self._next_s):
                return
            self._timer.cancel()
        self._timer = loop.call_at(max(at_s, self._next_s), self._send)

    def _send(self) -> None:
        now_s = asyncio.get_running_loop().time()
        self._timer = None
        self._next_s = now_s + QUIET_S
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._publish())
        else:
            self.wake()
        if self._wanted_s > now_s:
            self.wake(self._wanted_s - now_s)


async def _publish_beside() -> None:
    await asyncio.to_thread(publish)


def publish() -> None:
    """Say once that there is work. Waits for the broker, never fails."""
    try:
        current_app.send_task("ingest.decompose_traces", expires=EXPIRES_S, retry=False)
    except Exception as error:  # whatever ails the broker, the sweep will find the work
        log.warning("no worker was woken, the sweep will find the work: %s", error)

"""The scheduler in real time: asks it for the next step, waits as long as that takes, hands out what it made."""

from __future__ import annotations

import asyncio
import time

from agents.clock import Clock
from agents.engine.core import Scheduler, Sequence

_MAX_LAG_NS = 250_000_000  # a step later than this (a busy machine) shifts the schedule instead of catching up


def now_ns() -> int:
    return time.perf_counter_ns()


class Pump:
    """``sequence.reader`` is the queue of what is made: pairs of sequence and number of its output token."""

    def __init__(self, scheduler: Scheduler, clock: Clock) -> None:
        self.scheduler, self._clock = scheduler, clock
        self._work = asyncio.Event()

    def submit(self, sequence: Sequence) -> None:
        self.scheduler.submit(sequence, now_ns())
        self._work.set()

    def cancel(self, sequence: Sequence) -> None:
        self.scheduler.cancel(sequence, now_ns())

    async def run(self) -> None:
        """Step for ever; sleeps while there is nothing to do."""
        due_ns = now_ns()
        while True:
            if self.scheduler.idle:
                self._work.clear()
                await self._work.wait()
                due_ns = now_ns()
            began_ns = now_ns()
            if began_ns - due_ns > _MAX_LAG_NS:
                due_ns = began_ns
            step = self.scheduler.plan(began_ns)
            due_ns += int(step.lasts_ns / self._clock.speed)
            # Steps are due at set times, so that a late wake-up does not make the next step later still.
            await asyncio.sleep(max(0, due_ns - now_ns()) / 1e9)
            for made in self.scheduler.finish(step, now_ns()):
                for number in range(made.first, made.first + made.tokens):
                    made.sequence.reader.put_nowait((made.sequence, number))

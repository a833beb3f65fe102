"""One instance from start to stop: services, set-up, our own processes, the first page; then in reverse."""

import asyncio
import signal
from collections.abc import Awaitable, Sequence
from contextlib import suppress

from dashboard.supervise.child import Child, Program
from dashboard.supervise.console import Console


class Instance:
    """Holds the children of a supervisor and the order among them."""

    def __init__(self, console: Console) -> None:
        self.stopping = asyncio.Event()
        self._console = console
        self._stages: list[list[Child]] = []
        self._keepers: list[asyncio.Task[None]] = []

    def obey_signals(self) -> None:
        """Ctrl-C, a polite kill and a closed terminal all mean the same: stop in order."""
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(signum, self.stopping.set)

    async def until_stopped(self, work: Awaitable[object]) -> bool:
        """Do the work unless a stop comes first; tells whether it was done."""
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self.stopping.wait())
        await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if task.done():
            task.result()
            return True
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return False

    async def start(self, programs: Sequence[Program]) -> None:
        """Start programs side by side, wait until each serves, and keep them running from then on."""
        children = [Child(program, self._console) for program in programs]
        self._stages.append(children)
        await asyncio.gather(*(child.start() for child in children))
        self._keepers += [asyncio.create_task(child.keep()) for child in children]

    async def run_once(self, program: Program) -> None:
        await Child(program, self._console).once()

    async def stop(self) -> None:
        """What came last goes first; the services one by one, with PostgreSQL, which came first, last."""
        for number, stage in reversed(list(enumerate(self._stages))):
            if number > 0:
                await asyncio.gather(*(child.stop() for child in stage))
                continue
            for child in reversed(stage):
                await child.stop()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)

"""The instance under test: its processes by name, orders for its hooks, and how it is started again."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.instance import Instance, running_instance
from tests.polling import until

HOOKS = Path(__file__).parent / "hooks"
BACK_WITHIN_S = 60
ENDS_WITHIN_S = 45


class Missed(Exception):
    """The fault did not happen this time: nobody came by the point."""


class Victim:
    """One instance with hooks, and what may be done to it."""

    def __init__(self, instance: Instance, orders: Path, rng: random.Random) -> None:
        self.instance, self.orders, self.rng = instance, orders, rng

    def process(self, name: str) -> psutil.Process:
        """The main process of that name; waits for one that is just being started again."""
        return until(lambda: self.instance.process(name), BACK_WITHIN_S, f"{name} runs")

    def child(self, name: str, words: str = "") -> psutil.Process:
        """One of the processes that it has started, those with these words in their title; waits until there is one."""
        return self.rng.choice(until(lambda: self._children(name, words), BACK_WITHIN_S, f"{name} has children"))

    def _children(self, name: str, words: str) -> list[psutil.Process]:
        found = []
        for child in self.process(name).children():
            try:
                if words in " ".join(child.cmdline()):
                    found.append(child)
            except psutil.NoSuchProcess:
                continue
        return found

    def dies_at(self, point: str, within_s: float) -> None:
        """Have the next process that comes by the point kill itself there."""
        order = self.orders / point
        order.touch()
        try:
            until(lambda: not order.exists(), within_s, f"a process comes by {point}")
        except AssertionError:
            order.unlink(missing_ok=True)
            raise Missed(f"nobody came by {point}") from None

    @contextmanager
    def clock_wrong_by(self, shift_ns: int, process: psutil.Process | None = None) -> Iterator[None]:
        """For one process, or for all of them."""
        order = self.orders / ("clock" if process is None else f"clock.{process.pid}")
        draft = self.orders / "draft"
        draft.write_text(str(shift_ns))
        draft.rename(order)
        try:
            yield
        finally:
            order.unlink()

    def ends(self, signum: signal.Signals, *, all_of_them: bool = False) -> None:
        """Signal the supervisor (and all others at once), see that nothing is left, and start again."""
        there = self.instance.processes()
        for process in there if all_of_them else there[:1]:
            if process.is_running():
                os.kill(process.pid, signum)
        _, alive = psutil.wait_procs(there, ENDS_WITHIN_S)
        if alive:
            names = [" ".join(process.cmdline())[:80] for process in alive]
            raise AssertionError(f"{ENDS_WITHIN_S} s after {signum.name} these live on: {names}")
        self.instance.supervisor.wait()
        self.instance.start_again()


@contextmanager
def victim(folder: Path, rng: random.Random, within: Path | None = None, **settings: str) -> Iterator[Victim]:
    """An instance as `make up` starts it, fsync and all, with the hooks in its processes."""
    orders = folder / "orders"
    orders.mkdir(exist_ok=True)
    hooks = {"PYTHONPATH": str(HOOKS), "CHAOS_ORDERS": str(orders)}
    with running_instance(fsync=True, within=within, **hooks, **settings) as instance:
        yield Victim(instance, orders, rng)

"""CPU time of an instance, by process."""

from collections import Counter

import psutil

from tests.instance import COMMANDS, Instance


class Meter:
    """Counts user and system time of every process under the supervisor from now on.

    A process that ends is counted in the times of its children by the parent that reaped it, so nothing is lost
    as long as no direct child of the supervisor dies; that would make the sum too small.
    """

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._pids = {process.pid for process in psutil.Process(instance.supervisor.pid).children()}
        self._base = self._read()

    def spent_s(self) -> dict[str, float]:
        """Seconds since the beginning, by program."""
        now = self._read()
        if self._pids != {process.pid for process in psutil.Process(self._instance.supervisor.pid).children()}:
            raise RuntimeError(f"a process was restarted while it was measured:\n{self._instance.last_words()}")
        return {name: now[name] - self._base[name] for name in sorted(now)}

    def _read(self) -> Counter[str]:
        seconds: Counter[str] = Counter()
        supervisor = psutil.Process(self._instance.supervisor.pid)
        own = supervisor.cpu_times()
        seconds["supervisor"] = own.user + own.system
        for child in supervisor.children():
            name = program(child)
            for process in [child, *child.children(recursive=True)]:
                try:
                    spent = process.cpu_times()
                except psutil.NoSuchProcess:
                    continue  # its parent has reaped it, or is about to
                seconds[name] += spent.user + spent.system + spent.children_user + spent.children_system
        return seconds


def program(process: psutil.Process) -> str:
    """Which program of the instance a child of the supervisor is."""
    command = " ".join(process.cmdline())
    return next((name for name, words in COMMANDS.items() if words in command), process.name())

"""Ends a server that outlived the supervisor which started it, and forgets one that is long gone."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from dashboard.embedded.errors import StartError


def end_leftover(pid_file: Path, program: str, gentle: signal.Signals, wait_s: float = 20) -> None:
    """End the server named by a pid file and remove the file; whoever calls holds the instance's lock.

    After kill -9 a file can name a process that is gone, or (in a container, always) one that has nothing
    to do with us: only a process whose program has that name is ended.
    """
    pid = _pid_in(pid_file)
    if pid is not None and _runs(pid, program):
        for signum, patience_s in ((gentle, wait_s), (signal.SIGKILL, 5.0)):
            with suppress(ProcessLookupError):
                os.kill(pid, signum)
            if _gone(pid, program, patience_s):
                break
        else:
            raise StartError(f"process {pid} ({program}) of an earlier start does not end. End it by hand.")
    pid_file.unlink(missing_ok=True)


def _pid_in(pid_file: Path) -> int | None:
    try:
        return abs(int(pid_file.read_text().split(maxsplit=1)[0]))
    except (OSError, ValueError, IndexError):
        return None


def _gone(pid: int, program: str, patience_s: float) -> bool:
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if not _runs(pid, program):
            return True
        time.sleep(0.05)
    return False


def _runs(pid: int, program: str) -> bool:
    """Whether that process lives and is that program. `ps` where there is no /proc."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
        except OSError:
            return False
        return name == program[:15] and rest.split()[0] != "Z"
    done = subprocess.run(["ps", "-p", str(pid), "-o", "comm="], capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()).name == program

"""Row 9: what an instance takes that has nothing to do."""

import time
from collections import Counter
from pathlib import Path

import psutil

from benchmarks.meter import Meter, program
from tests.instance import Instance

AFTER_S = 3.0  # the last of the load's wake-ups and announcements
SECONDS = 20.0


def cpu_share(instance: Instance) -> dict[str, float]:
    """Seconds of CPU a second over 20 s, by program; 1.0 is one core. Nothing may be owed any more: ``Loads.rest``."""
    time.sleep(AFTER_S)
    meter, began_s = Meter(instance), time.monotonic()
    time.sleep(SECONDS)
    spent = meter.spent_s()
    return {name: seconds / (time.monotonic() - began_s) for name, seconds in spent.items()}


def memory_bytes(instance: Instance) -> dict[str, int] | None:
    """Proportional memory (PSS) by program; None where the kernel does not tell it."""
    found: Counter[str] = Counter()
    supervisor = psutil.Process(instance.supervisor.pid)
    try:
        found["supervisor"] = pss_bytes(supervisor.pid)
        for child in supervisor.children():
            name = program(child)
            for process in [child, *child.children(recursive=True)]:
                found[name] += pss_bytes(process.pid)
    except PermissionError:
        return None
    return dict(found)


def pss_bytes(pid: int) -> int:
    """From the kernel's own sum; 0 for a process that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        if not Path("/proc/self/smaps_rollup").exists():
            raise PermissionError("this kernel keeps no smaps_rollup") from None
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)

"""A disk that fills up under the database, with the guard against it switched off, and has room again later."""

import os
import random
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.chaos.faults import Fault
from benchmarks.chaos.rounds import Outcome, hurt_it
from benchmarks.chaos.victim import Victim, victim

DISK_MB = 900
FULL_S = 15


def run_on_a_small_disk(rng: random.Random, outcome: Outcome) -> str | None:
    """Needs a tmpfs, so root; returns why it was skipped."""
    with TemporaryDirectory(prefix="sixstage-chaos-") as name:
        folder = Path(name)
        disk = folder / "disk"
        disk.mkdir()
        with _small_disk(disk) as why_not:
            if why_not is None:
                # The guard, which would refuse long before, has tests of its own.
                with victim(folder, rng, within=disk, SIXSTAGE_MIN_FREE_BYTES="0") as hurt:
                    full = Fault(f"disk full for {FULL_S} s", partial(_fill, disk=disk))
                    hurt_it(hurt, folder, deque([full]), outcome)
            return why_not


@contextmanager
def _small_disk(disk: Path) -> Iterator[str | None]:
    if os.geteuid() != 0:
        yield "mounting a small disk needs root"
        return
    options = f"size={DISK_MB}m,mode=0755"
    mount = ["mount", "-t", "tmpfs", "-o", options, "sixstage-chaos", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        yield f"no small disk could be mounted: {done.stderr.strip()}"
        return
    disk.chmod(0o755)
    try:
        yield None
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _fill(hurt: Victim, disk: Path) -> None:
    """Take what is free, again and again, since the database gives back as it fails."""
    ballast = disk / "ballast"
    until_s = time.monotonic() + FULL_S
    with ballast.open("ab") as file:
        while time.monotonic() < until_s:
            found = os.statvfs(disk)
            free = found.f_bavail * found.f_frsize
            with suppress(OSError):  # the database was faster
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, free or 1)
            time.sleep(0.2)
    ballast.unlink()

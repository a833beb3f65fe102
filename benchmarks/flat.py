"""Whether the memory of each process stays flat under full load: spans as fast as they are taken, for ten minutes.

    python -m benchmarks.flat [--seconds 600]

Each process that lives from the third minute to the end is compared with itself: its median then, and over the last
tenth. In the end all that was acknowledged must be stored and decomposed, each span once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
import psycopg

from benchmarks.idle import pss_bytes
from benchmarks.loads import Loads, say
from benchmarks.meter import program
from tests.instance import Instance, running_instance
from tests.polling import until

LOOKS, SETTLED_SHARE = 120, 0.2  # caches and pools are full after two of ten minutes
GROWTH_MOST, NOISE_BYTES = 1.05, 4_000_000
DRAINED_WITHIN_S = 900.0
STORED = """
    SELECT (SELECT coalesce(sum(items), 0) FROM ingest_chunk)::bigint,
        (SELECT coalesce(sum(spans), 0) FROM ingest_run)::bigint
"""
Sizes = dict[tuple[str, int], list[tuple[float, int]]]  # by program and pid: seconds since the beginning, bytes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flat", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600)
    seconds = parser.parse_args().seconds
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    with (
        TemporaryDirectory(prefix="sixstage-flat-") as folder,
        running_instance(fsync=True) as instance,
        psycopg.connect(instance.database_url, autocommit=True) as database,
    ):
        loads = Loads(instance, database, Path(folder), seconds)
        told, sizes = _loaded(loads, seconds)
        until(lambda: not loads.waiting(), DRAINED_WITHIN_S, "all traces are decomposed")
        stored = database.execute(STORED).fetchone()
    print(f"{told['acked']:,} spans acknowledged, {told['acked'] / seconds:,.0f} a second; errors: {told['errors']}")
    alike = stored == (told["acked"], told["acked"])
    print("stored and decomposed: each once" if alike else f"stored and decomposed: {stored}")
    return 0 if _tell(sizes, seconds) and alike else 1


def _loaded(loads: Loads, seconds: float) -> tuple[dict[str, int], Sizes]:
    """Send for so long, and look at all processes meanwhile."""
    say(f"sending at full speed for {seconds:g} s")
    command = loads.command("full", 1 << 30, 0, f"--duration={seconds}", "--mem-mb=200", "--truth=")
    sizes: Sizes = defaultdict(list)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
        began_s = time.monotonic()
        try:
            while sender.poll() is None and time.monotonic() - began_s < seconds + 120:
                _look(loads.instance, time.monotonic() - began_s, sizes)
                time.sleep(seconds / LOOKS)
        finally:
            sender.terminate()
        out, _ = sender.communicate()
    return json.loads(out), sizes


def _look(instance: Instance, at_s: float, sizes: Sizes) -> None:
    supervisor = psutil.Process(instance.supervisor.pid)
    for process in [supervisor, *supervisor.children(recursive=True)]:
        try:
            top = process
            while process is not supervisor and (above := top.parent()) is not None and above != supervisor:
                top = above
            sizes[program(top) if top != supervisor else "supervisor", process.pid].append(
                (at_s, pss_bytes(process.pid))
            )
        except psutil.NoSuchProcess:
            continue


def _tell(sizes: Sizes, seconds: float) -> bool:
    """Print each process that lived all the while, and whether all of them are flat."""
    settled_s, late_s = seconds * SETTLED_SHARE, seconds * 0.9
    flat, compared = True, 0
    print("| process | pid | settled MB | last MB | most MB | |\n| --- | --- | --- | --- | --- | --- |")
    for (name, pid), seen in sorted(sizes.items()):
        first = [size for at_s, size in seen if settled_s <= at_s < settled_s + seconds / 10]
        last = [size for at_s, size in seen if late_s <= at_s < seconds]
        if not first or not last:
            continue
        before, after = statistics.median(first), statistics.median(last)
        good = after <= before * GROWTH_MOST + NOISE_BYTES
        flat, compared = flat and good, compared + 1
        most = max(size for _, size in seen)
        verdict = "flat" if good else "GROWS"
        print(f"| {name} | {pid} | {before / 1e6:.1f} | {after / 1e6:.1f} | {most / 1e6:.1f} | {verdict} |")
    return flat and compared > 0


if __name__ == "__main__":
    sys.exit(main())

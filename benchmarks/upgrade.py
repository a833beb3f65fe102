"""How long an upgrade of v0.1 keeps spans waiting on a store of a million.

    python -m benchmarks.upgrade [--spans 1000000]

The store is filled by this version and taken back to v0.1's schema. Then the instance is stopped and started again, as
an upgrade does: migrations run between, and a sender that tries all the while says for how long nobody took its spans.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import httpx
import psycopg

from benchmarks.loads import Loads
from tests.instance import STOPPED_WITHIN_S, Instance, running_instance
from tests.readback import wrong_runs

V0_1 = "0024_deploys"
# What v0.1 wrote into each row and later versions leave out; then without what this replaces, as it would lie there.
AS_WRITTEN_THEN = (
    """UPDATE ingest_call AS call SET root_span_id = run.root_span_id FROM ingest_run AS run
       WHERE call.root_span_id IS NULL
         AND (call.trace_id, call.project_id, call.day) = (run.trace_id, run.project_id, run.day)""",
    """UPDATE ingest_tool AS tool SET root_span_id = run.root_span_id FROM ingest_run AS run
       WHERE tool.root_span_id = ''
         AND (tool.trace_id, tool.project_id, tool.day) = (run.trace_id, run.project_id, run.day)""",
    "UPDATE ingest_run SET model_names = array_remove(ARRAY[model], NULL) WHERE model_names IS NULL",
    "VACUUM FULL ingest_run", "VACUUM FULL ingest_call", "VACUUM FULL ingest_tool", "ANALYZE", "CHECKPOINT",
)  # fmt: skip
TRY_S = 0.05
PROTOBUF = {"content-type": "application/x-protobuf"}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrade", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--spans", type=int, default=1_000_000)
    spans = parser.parse_args().spans
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    with TemporaryDirectory(prefix="sixstage-upgrade-") as folder, running_instance(fsync=True) as instance:
        with psycopg.connect(instance.database_url, autocommit=True) as database:
            loads = Loads(instance, database, Path(folder), 300)
            loads.send("before", spans)
            loads.rest()
            for statement in AS_WRITTEN_THEN:
                database.execute(statement)
        instance.manage("migrate", "ingest", V0_1)
        pending = instance.manage("showmigrations", "--plan", "ingest").count("[ ]")
        up_s, silent_s = _restarted(instance)
        print(f"{loads.acked:,} spans, {pending} migrations: ready again {up_s:.1f} s after SIGTERM;", end=" ")
        print(f"for {silent_s:.1f} s nobody took spans")
        faults = wrong_runs(instance.api, loads.truths()) + loads.faults
    print("\n".join(faults[:10]) or "Every run was read back and is right.")
    return 1 if faults or not pending else 0


def _restarted(instance: Instance) -> tuple[float, float]:
    """Seconds from SIGTERM until ready, and the longest for which the receiver did not answer."""
    over, answered_s = Event(), [time.monotonic()]

    def try_again() -> None:
        with httpx.Client(timeout=2) as client:
            while not over.wait(TRY_S):
                try:
                    taken = client.post(f"{instance.otlp_http}/v1/traces", headers=PROTOBUF).status_code == 200
                except httpx.TransportError:
                    taken = False
                if taken:
                    answered_s.append(time.monotonic())

    sender, began_s = Thread(target=try_again), time.monotonic()
    sender.start()
    try:
        instance.supervisor.terminate()
        instance.supervisor.wait(STOPPED_WITHIN_S)
        instance.start_again()
        instance.becomes_ready()
        up_s = time.monotonic() - began_s
        while answered_s[-1] < began_s + up_s and time.monotonic() < began_s + up_s + 10:
            time.sleep(TRY_S)
    finally:
        over.set()
        sender.join()
    return up_s, max(after - before for before, after in pairwise(answered_s))


if __name__ == "__main__":
    sys.exit(main())

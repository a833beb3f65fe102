"""Rows 1, 3 and 5: what a span costs from its receipt to its run, how long an answer takes, and what stays on disk."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.meter import Meter
from benchmarks.report import Result, Row
from tests.instance import ROOT, Instance, running_instance
from tests.polling import until
from tests.readback import wrong_runs

UNIT_SPANS = 1_536  # 128 whole traces of 12 spans
WARM_UP_SPANS = 4 * UNIT_SPANS
LATENCY_S = 15  # row 3 sends for this long
# Partitions under the name of their table.
TABLE_BYTES = """
    SELECT regexp_replace(relname, '_p?[0-9]{4}.*$', ''), sum(pg_total_relation_size(oid))::bigint FROM pg_class
    WHERE relkind IN ('r', 'm') AND relnamespace = 'public'::regnamespace AND relname LIKE 'ingest\\_%'
    GROUP BY 1 ORDER BY 2 DESC
"""


@dataclass(frozen=True)
class Plan:
    spans: int
    rate: int
    seconds: float


def measure(plan: Plan) -> Result:
    """Start an instance, load it at full speed and then at a fixed rate, and read everything back."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="sixstage-bench-") as folder, running_instance(fsync=True) as instance:
        with psycopg.connect(instance.database_url, autocommit=True) as database:
            bench = _Bench(instance, database, Path(folder), plan.seconds)
            bench.load("warm-up", WARM_UP_SPANS)
            meter = Meter(instance)
            full = bench.load("full", plan.spans)
            cpu_s = meter.spent_s()
            steady = bench.load("steady", plan.rate * LATENCY_S, rate=plan.rate)
            sizes = dict(database.execute(TABLE_BYTES).fetchall())
        truths = bench.truths()
        faults = wrong_runs(instance.api, truths)
    per_million = sum(cpu_s.values()) / full["acked"] * 1e6
    latency_ms = steady["latency_ms"]
    return Result(
        rows=[
            Row(1, "CPU-seconds per 1 M spans, end to end", per_million, 90, 50, "s"),
            Row(3, f"ack latency p99 at {plan.rate:,} spans/s", latency_ms["p99"], 200, 50, "ms"),
            Row(5, "bytes on disk per span, indexes and all", sum(sizes.values()) / bench.acked, 450, 250, "bytes"),
        ],
        facts={
            "spans at full speed": full["acked"],
            "spans in all": bench.acked,
            "runs read back": len(truths),
            "acknowledged spans/s at full speed": full["acked_spans_per_s"],
            "decomposed spans/s at full speed": full["decomposed_spans_per_s"],
            "ack latency p50 ms": latency_ms["p50"],
            "ack latency max ms": latency_ms["max"],
            "spans/s reached for row 3": steady["acked_spans_per_s"],
            "CPU-seconds by process": {name: round(spent, 2) for name, spent in cpu_s.items()},
            "bytes per span by table": {name: round(size / bench.acked) for name, size in sizes.items() if size},
            "load average before and after": [round(before, 2), round(os.getloadavg()[0], 2)],
            "cores": os.cpu_count(),
        },
        faults=faults + bench.faults,
    )


class _Bench:
    """Sends loads to one instance and keeps what each must have led to."""

    def __init__(self, instance: Instance, database: psycopg.Connection, folder: Path, seconds: float) -> None:
        self.instance, self.database, self.folder, self.seconds = instance, database, folder, seconds
        self.acked = 0
        self.faults: list[str] = []

    def load(self, name: str, spans: int, rate: int = 0) -> dict[str, Any]:
        """Send whole traces and wait until their runs are written; the generator's own account of it."""
        spans = math.ceil(spans / UNIT_SPANS) * UNIT_SPANS
        script = ROOT / "tests/tools/otlp_load.py"
        command = [sys.executable, str(script), f"{self.instance.otlp_http}/v1/traces", f"--truth={self._truth(name)}"]
        told = subprocess.run(
            [*command, f"--spans={spans}", f"--rate={rate}", f"--duration={self.seconds}"],
            stdout=subprocess.PIPE,
            timeout=self.seconds + 120,
            check=True,
        ).stdout
        result: dict[str, Any] = json.loads(told)
        if result["acked"] != spans:
            self.faults.append(
                f"{name}: {result['acked']} of {spans} spans were acknowledged; errors {result['errors']}"
            )
        began_s = time.monotonic()
        until(self._is_idle, self.seconds, f"the traces of the {name} load are decomposed")
        self.acked += result["acked"]
        whole_s = result["wall_s"] + time.monotonic() - began_s
        return result | {"decomposed_spans_per_s": round(result["acked"] / whole_s)}

    def truths(self) -> dict[str, dict[str, Any]]:
        lines = (line for path in self.folder.iterdir() for line in path.read_text().splitlines())
        return {truth["trace_id"]: truth for truth in map(json.loads, lines)}

    def _truth(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    def _is_idle(self) -> bool:
        return self.database.execute("SELECT NOT EXISTS (SELECT FROM ingest_dirty_trace)").fetchone() == (True,)

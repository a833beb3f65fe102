"""Rows 1 to 5, 9 and 10, on one instance: what a span costs, how many a second are kept up with, how long answers
and runs take, what stays on disk, what idling takes, and how soon it starts again."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg

from benchmarks.floor import mean, measure_floor
from benchmarks.idle import cpu_share, memory_bytes
from benchmarks.loads import Loads, say
from benchmarks.meter import Meter
from benchmarks.report import Floor, Result, Row
from benchmarks.seen import measure_seen
from benchmarks.steady import find_steady, highest_steady
from benchmarks.visible import RATE, Visible, at_share, measure_visible
from tests.instance import STOPPED_WITHIN_S, Instance, running_instance
from tests.polling import until
from tests.readback import wrong_runs

WARM_UP_SPANS = 6_144
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
    rate: int | None  # for row 3; None for half of row 2
    seconds: float
    stored: int | None = None  # spans, for row 7; None for ten million


def measure(plan: Plan) -> Result:
    """Start an instance, measure, read everything back, and start it once more."""
    before, began_s = os.getloadavg()[0], time.monotonic()
    say("making an instance")
    with TemporaryDirectory(prefix="sixstage-bench-") as folder, running_instance(fsync=True) as instance:
        first_start_s = time.monotonic() - began_s
        with psycopg.connect(instance.database_url, autocommit=True) as database:
            loads = Loads(instance, database, Path(folder), plan.seconds)
            result = _loaded(loads, plan)
        start_s = _start_again_s(instance)
    return Result(
        rows=[*result.rows, Row(10, "start to ready, second time", start_s, 10, 4, "s", digits=1)],
        facts=dict(result.facts)
        | {
            "spans in all": loads.acked,
            "first start to ready s": round(first_start_s, 1),
            "load average before and after": [round(before, 2), round(os.getloadavg()[0], 2)],
            "cores": os.cpu_count(),
        },
        faults=loads.faults,
    )


def _loaded(loads: Loads, plan: Plan) -> Result:
    """Everything that is measured while the first instance runs."""
    loads.send("warm-up", WARM_UP_SPANS)
    until(loads.has_dictionary, 60, "a dictionary is trained, which the floor is not to be measured beside")
    say("measuring the floor")
    floor = measure_floor(loads.instance)
    meter = Meter(loads.instance)
    full = loads.send("full", plan.spans)
    cpu_s = meter.spent_s()
    loads.rest()
    say("measuring the floor again: a machine shared with others is not always as quick")
    floor = mean(floor, measure_floor(loads.instance))
    tried = find_steady(loads, full.decomposed_per_s)
    steady = highest_steady(tried)
    rate = plan.rate or round((steady or tried[-1].rate) / 2)
    loads.rest()
    latency = loads.send("latency", rate * LATENCY_S, rate=rate)
    loads.rest()
    visible = measure_visible(loads)
    loads.rest()
    seen_ms = measure_seen(loads, RATE)
    sizes: dict[str, int] = dict(loads.database.execute(TABLE_BYTES).fetchall())
    truths = loads.truths()
    say(f"reading {len(truths):,} runs back")
    loads.faults += wrong_runs(loads.instance.api, truths)
    loads.rest()
    say("idling")
    idle = cpu_share(loads.instance)
    memory = memory_bytes(loads.instance)
    if steady is None:
        loads.faults.append("no rate of those tried was steady: row 2 is unknown")
    latency_ms = latency.told["latency_ms"]
    return Result(
        rows=[
            Row(1, "CPU-seconds per 1 M spans, end to end", sum(cpu_s.values()) / full.acked * 1e6, 90, 50, "s",
                floor=Floor(floor["busy_us"], "bare prototype, both cores busy")),
            *_sustained(steady, floor),
            Row(3, f"ack latency p99 at {rate:,} spans/s", latency_ms["p99"], 200, 50, "ms"),
            *_visible(visible),
            *_seen(seen_ms),
            Row(5, "bytes on disk per span, indexes and all", sum(sizes.values()) / loads.acked, 450, 250, "bytes",
                floor=Floor(floor["zstd_bytes"], "zstd of a batch")),
            *_idle(idle, memory),
        ],
        facts={
            "floor, parse alone (upb)": f"{floor['parse_us']:.1f} CPU-s per 1 M spans",
            "bare prototype, alone": f"{floor['prototype_us']:.1f} CPU-s per 1 M spans (33 where the bar was set)",
            "runs read back": len(truths),
            "spans at full speed": full.acked,
            "acknowledged spans/s at full speed": full.told["acked_spans_per_s"],
            "decomposed spans/s at full speed, until no trace waits": round(full.decomposed_per_s),
            "rates tried for row 2": "; ".join(map(str, tried)),
            "ack latency p50 ms": latency_ms["p50"],
            "ack latency max ms": latency_ms["max"],
            "spans/s reached for row 3": latency.told["acked_spans_per_s"],
            **_visible_facts(visible),
            "ack to painted on Live, p50 ms": f"{at_share(seen_ms, 0.5):.0f}" if seen_ms else "unknown: no Chromium",
            "CPU-seconds by process": {name: round(spent, 2) for name, spent in cpu_s.items()},
            "bytes per span by table": {name: round(size / loads.acked) for name, size in sizes.items() if size},
            "idle, percent of a core by process": {name: round(share * 100, 2) for name, share in idle.items()},
            "idle, MB of PSS by process": {name: round(size / 1e6) for name, size in (memory or {}).items()}
            or "unknown: the kernel does not tell",
        },
        faults=[],
    )  # fmt: skip


def _start_again_s(instance: Instance) -> float:
    """From the start of the supervisor until `/readyz` answers 200, with what is stored by now."""
    say("starting it again")
    instance.supervisor.terminate()
    instance.supervisor.wait(STOPPED_WITHIN_S)
    began_s = time.monotonic()
    instance.start_again()
    instance.becomes_ready()
    return time.monotonic() - began_s


def _sustained(steady: float | None, floor: dict[str, float]) -> list[Row]:
    if steady is None:
        return []
    what = "sustained spans/s, durable and decomposed"
    prototype = Floor(floor["per_s"], "bare prototype")
    return [Row(2, what, steady, 12_000, 25_000, "spans/s", more=True, floor=prototype)]


def _visible(visible: Visible) -> list[Row]:
    if not visible.both_ms:
        return []
    what = f"ack to visible and announced, p99 at {RATE:,} spans/s"
    return [Row(4, what, at_share(visible.both_ms, 0.99), 2_000, 700, "ms")]


def _seen(seen_ms: list[float] | None) -> list[Row]:
    if not seen_ms:
        return []
    what = f"ack to its row painted on Live in Chromium, p99 of {len(seen_ms)} at {RATE:,} spans/s"
    return [Row(4, what, at_share(seen_ms, 0.99), 2_000, 700, "ms")]


def _visible_facts(visible: Visible) -> dict[str, Any]:
    if not visible.both_ms:
        return {}
    each = {"in the API": visible.shown_ms, "announced": visible.announced_ms}
    told = [f"{name} {at_share(ms, 0.5):.0f} / {at_share(ms, 0.99):.0f}" for name, ms in each.items()]
    return {
        "ack to visible, p50 / p99 ms": ", ".join(told),
        "traces asked for in row 4": (
            f"{len(visible.both_ms)}, {visible.named} of them announced by their id, {visible.late} not within 30 s"
        ),
        "spans/s reached for row 4": visible.reached_per_s,
    }


def _idle(idle: dict[str, float], memory: dict[str, int] | None) -> list[Row]:
    rows = [Row(9, "idle: CPU", sum(idle.values()) * 100, 5, 3, "% of a core", digits=1)]
    if memory is not None:
        rows.insert(0, Row(9, "idle: memory (PSS) of all processes", sum(memory.values()) / 1e6, 600, 400, "MB"))
    return rows

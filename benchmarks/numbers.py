"""Row 7: what answers of the API take with ten million spans' runs stored, right after a start and again.

Cold is the first answer after a restart with nothing of the database in memory, neither PostgreSQL's nor the
kernel's; warm the median of several. Each is a whole request over HTTP, connection to the database included.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.loads import SPANS_A_TRACE, say
from benchmarks.many import RUNS
from benchmarks.meter import Meter
from benchmarks.report import Result, Row
from tests.instance import ROOT, STOPPED_WITHIN_S, Instance, running_instance

WARM, CPU_ANSWERS = 9, 20  # answers each
LOAD_S = 2_700
WEEK_NS = 7 * 86_400 * 10**9
CHECKED_DAYS = "2"


def measure_numbers(spans: int | None = None) -> Result:
    """Fill an instance, check its rollups on a sample, and ask."""
    runs = RUNS if spans is None else spans // SPANS_A_TRACE
    before = os.getloadavg()[0]
    with running_instance(fsync=True) as instance:
        say(f"writing {runs:,} runs")
        told = _fill(instance, runs)
        faults = _verify(instance)
        asked = questions(told)
        cold = {name: _cold_ms(instance, path) for name, (path, _, _) in asked.items()}
        warm = {name: _warm_ms(instance, path) for name, (path, _, _) in asked.items()}
        cpu = {name: _cpu_ms(instance, path) for name, (path, _, _) in asked.items()}
        with psycopg.connect(instance.database_url) as database:
            ((size,),) = database.execute("SELECT pg_database_size(current_database())").fetchall()
    rows = [
        Row(7, f"{name}, {way}", ms[name], bar, aim, "ms")
        for name, (_, bar, aim) in asked.items()
        for way, ms in (("warm", warm), ("cold", cold))
    ]
    return Result(
        rows=rows,
        facts={
            "runs and spans stored for row 7": f"{told['runs']:,} and {told['spans']:,}, over {told['days']} days",
            "seconds to write them": told["seconds"],
            "CPU ms of a warm answer, web and PostgreSQL": {name: round(spent) for name, spent in cpu.items()},
            "MB in the database": round(size / 1e6),
            "load average before and after": [round(before, 2), round(os.getloadavg()[0], 2)],
        },
        faults=faults,
        read_back=False,
    )


def questions(told: Mapping[str, Any]) -> dict[str, tuple[str, float, float]]:
    """What is asked, under which bar, with which aim; in milliseconds."""
    to_ns = int(told["now_unix_ns"])
    week = f"from={to_ns - WEEK_NS}&to={to_ns}"
    return {
        "runs page": ("runs", 150, 20),
        "runs of a busy service": ("runs?service=checkout", 150, 20),
        "runs of a service long gone": (f"runs?service={told['gone_service']}", 150, 20),
        "runs of a session": (f"runs?session={told['session']}", 150, 20),
        "7 days by service, all figures": (f"summary?{week}&group_by=service", 200, 100),
        "weekly report": ("reports/last", 1_000, 500),
        "7 days by service, runs only": (f"summary?{week}&group_by=service&of=runs", 200, 100),
    }


def _fill(instance: Instance, runs: int) -> dict[str, Any]:
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(("SIXSTAGE_", "DJANGO_"))}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.many", f"--runs={runs}", f"--seconds={LOAD_S}"],
        cwd=ROOT, env=theirs | {"SIXSTAGE_DATA_DIR": str(instance.data_dir)}, stdout=subprocess.PIPE,
        timeout=LOAD_S + 300, check=True,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def _verify(instance: Instance) -> list[str]:
    say(f"counting the rows of {CHECKED_DAYS} days again")
    try:
        instance.manage("verify_rollups", "--days", CHECKED_DAYS)
    except AssertionError as error:
        return [f"verify_rollups: {error}"[:500]]
    return []


def _cold_ms(instance: Instance, path: str) -> float:
    instance.supervisor.terminate()
    instance.supervisor.wait(STOPPED_WITHIN_S)
    _forget(instance.data_dir)
    instance.start_again()
    instance.becomes_ready()
    _ask(instance, "runs?limit=1&service=nobody")  # code and connections; nothing of the answer
    return _ask(instance, path)


def _forget(folder: Path) -> None:
    """Out of the kernel's memory with the files of the database, and with nothing else."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _warm_ms(instance: Instance, path: str) -> float:
    _ask(instance, path)
    return statistics.median(_ask(instance, path) for _ in range(WARM))


def _cpu_ms(instance: Instance, path: str) -> float:
    """Of one answer: what holds on a machine that is shared."""
    _ask(instance, path)
    meter = Meter(instance)
    for _ in range(CPU_ANSWERS):
        _ask(instance, path)
    spent = meter.spent_s()
    return (spent["web"] + spent["postgres"]) / CPU_ANSWERS * 1000


def _ask(instance: Instance, path: str) -> float:
    began_s = time.perf_counter()
    answer = instance.api.get(f"/{path}", timeout=60)  # its connection stands: making TLS contexts took 60 ms each
    answer.raise_for_status()
    return (time.perf_counter() - began_s) * 1000

"""Fills an instance with as many runs as ten million spans make, over two weeks, for row 7.

`SIXSTAGE_DATA_DIR=… python -m benchmarks.many` beside a running instance. Some thousand traces of the benchmark's load
are decomposed for real; their rows are then written again and again, with other ids, times, services, versions,
sessions and users, by the code with which workers write: so everything that holds of runs holds of these, and
`manage.py verify_rollups` finds no fault. What no list and no figure reads, the stored spans, is left out.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.kernel import read_traces
from benchmarks.loads import SPANS_A_TRACE
from tests.instance import ROOT

if TYPE_CHECKING:
    from ingest.rows import Row, Rows

TEMPLATE_SPANS = 24_576
RUNS, DAYS, SECONDS = 833_334, 14, 3_600.0  # half an hour on two idle cores
A_PASS = 200  # traces a transaction, as workers claim them
FOLD_EVERY = 100  # passes
DAY_NS, SECOND_NS = 86_400 * 10**9, 10**9
# Busy services and quiet ones; one that was switched off after the third day, so that its runs lie far back.
SERVICES = ("checkout", "support", "search", "research", "triage", "billing", "onboarding", "nightly")
WEIGHTS = (30, 22, 16, 12, 9, 6, 4, 1)
GONE_SERVICE, GONE_AFTER_DAYS, GONE_SHARE = "legacy", 3, 0.02
VERSION_DAYS = 5  # a new version every five days
SESSIONS, USERS = 200_000, 5_000


class Template(NamedTuple):
    """The rows of one decomposed trace, and how long after the epoch of its rows it began."""

    run: Row
    calls: list[Row]
    tools: list[Row]


def fill(runs: int, days: int, seconds: float, seed: int = 7) -> dict[str, Any]:
    """Write the runs, oldest first, until all are there or the time is up."""
    from django.db import transaction

    from ingest.models import Project
    from ingest.rollups.applying import write_deltas
    from ingest.rollups.counting import Gathered
    from ingest.rollups.folding import fold_all
    from ingest.rows import Rows
    from ingest.stored import direct_cursor

    began_s = time.monotonic()
    chance = random.Random(seed)
    project = Project.objects.order_by("id").first()
    assert project, "the instance has no project: start it first"
    now_ns = time.time_ns()
    make_partitions(now_ns, days)
    forget_minutes(now_ns)
    writer = _Writer(_templates(), project.pk, now_ns, days, chance)
    written = spans = 0
    for number, ends in enumerate(_passes(runs, days, now_ns, chance)):
        rows = Rows()
        for end_ns in ends:
            spans += writer.add(rows, end_ns)
        with transaction.atomic(), direct_cursor() as cursor:
            rows.copy(cursor)
            with cursor.copy("COPY ingest_trace (trace_id, project_id, day) FROM STDIN") as copy:
                for row in writer.places:
                    copy.write_row(row)
            writer.places.clear()
            gathered = Gathered()
            gathered.add_rows(rows)
            write_deltas(cursor, gathered)
        written += len(ends)
        if number % FOLD_EVERY == FOLD_EVERY - 1:
            fold_all()  # beside the worker, which does the same: whoever is first
            print(f"… {written:,} runs, {time.monotonic() - began_s:.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() - began_s > seconds:
            break
    while _deltas():  # what the worker has in hand, it folds
        if not fold_all():
            time.sleep(0.2)
    _analyze()
    return {
        "runs": written, "spans": spans, "days": days, "seconds": round(time.monotonic() - began_s, 1),
        "now_unix_ns": str(now_ns), "gone_service": GONE_SERVICE, "session": writer.session,
    }  # fmt: skip


def make_partitions(now_ns: int, days: int) -> None:
    from ingest.partitions import ensure_partitions

    for ago in range(days + 1):
        ensure_partitions(now_ns - ago * DAY_NS)


def forget_minutes(now_ns: int) -> None:
    """As an instance that has run for so long has done by itself."""
    from django.conf import settings
    from django.db import connection

    from ingest.partitions import today
    from ingest.rollups.horizon import TELL, Gone

    with connection.cursor() as cursor:
        last = today(now_ns) - dt.timedelta(days=settings.SIXSTAGE_ROLLUP_MINUTE_DAYS + 1)
        cursor.execute(TELL, [int(Gone.MINUTES), last])


def _passes(runs: int, days: int, now_ns: int, chance: random.Random) -> Iterator[list[int]]:
    """When the runs end, pass by pass: more by day than by night."""
    first_ns, length_ns = now_ns - days * DAY_NS, days * DAY_NS
    ends: list[int] = []
    for number in range(runs):
        at_ns = number * length_ns // runs
        wave = 0.1 * math.sin(2 * math.pi * at_ns / DAY_NS)  # of a day: moves runs towards noon
        end_ns = first_ns + at_ns + int(wave * DAY_NS) + chance.randrange(SECOND_NS)
        ends.append(min(max(end_ns, first_ns), now_ns - SECOND_NS))
        if len(ends) == A_PASS:
            yield ends
            ends = []
    if ends:
        yield ends


class _Writer:
    """Makes new runs of old ones."""

    def __init__(
        self, templates: list[Template], project_id: int, now_ns: int, days: int, chance: random.Random
    ) -> None:
        from ingest.rows import CALL_COLUMNS, RUN_COLUMNS, TOOL_COLUMNS

        self.templates, self.project_id, self.now_ns, self.days, self.chance = (
            templates, project_id, now_ns, days, chance
        )  # fmt: skip
        self.of_run = {name: at for at, name in enumerate(RUN_COLUMNS)}
        self.of_call = {name: at for at, name in enumerate(CALL_COLUMNS)}
        self.of_tool = {name: at for at, name in enumerate(TOOL_COLUMNS)}
        self.places: list[Row] = []
        self.session = "conv-0"

    def add(self, rows: Rows, end_ns: int) -> int:
        """One more run that ends then; returns its spans."""
        chance, of = self.chance, self.of_run
        template = self.templates[chance.randrange(len(self.templates))]
        run = list(template.run)
        shift_ns = end_ns - run[of["end_unix_ns"]]
        trace_id, day = chance.randbytes(16), _date(end_ns)
        ago = (self.now_ns - end_ns) / DAY_NS
        service = chance.choices(SERVICES, WEIGHTS)[0]
        if ago > self.days - GONE_AFTER_DAYS and chance.random() < GONE_SHARE:
            service = GONE_SERVICE
        self.session = f"conv-{chance.randrange(SESSIONS)}"
        for name, value in (
            ("start_unix_ns", run[of["start_unix_ns"]] + shift_ns), ("end_unix_ns", end_ns),
            ("settles_unix_ns", end_ns + 5 * SECOND_NS), ("day", day), ("project_id", self.project_id),
            ("trace_id", trace_id), ("service", service), ("agent", f"{service}-agent"),
            ("version", f"1.{int(self.days - ago) // VERSION_DAYS}"), ("environment", "prod"),
            ("session_id", self.session), ("user_id", f"user-{chance.randrange(USERS)}"),
        ):  # fmt: skip
            run[of[name]] = value
        rows.runs.append(tuple(run))
        for into, former, columns in (
            (rows.calls, template.calls, self.of_call), (rows.tools, template.tools, self.of_tool)
        ):  # fmt: skip
            start, end = columns["start_unix_ns"], columns["end_unix_ns"]
            for row in former:
                now = list(row)
                now[start] += shift_ns
                now[end] += shift_ns
                now[columns["day"]], now[columns["trace_id"]] = day, trace_id
                now[columns["project_id"]] = self.project_id
                into.append(tuple(now))
        self.places.append((trace_id, self.project_id, day))
        return int(run[of["spans"]])


def _date(unix_ns: int) -> dt.date:
    return dt.datetime.fromtimestamp(unix_ns // SECOND_NS, dt.UTC).date()


def _templates() -> list[Template]:
    """Rows of real decompositions."""
    from ingest.rows import Rows
    from ingest.stages import decompose

    made = []
    with tempfile.TemporaryDirectory(prefix="sixstage-many-") as folder:
        dump = Path(folder) / "load"
        script = ROOT / "tests/tools/otlp_load.py"
        load = [sys.executable, str(script), "http://127.0.0.1:1/", f"--spans={TEMPLATE_SPANS}", "--templates=16"]
        subprocess.run([*load, f"--dump={dump}"], stdout=subprocess.DEVNULL, timeout=120, check=True)
        for spans in read_traces(dump):
            decomposition = decompose(spans)
            rows = Rows()
            for run in decomposition.runs:
                rows.add(run, 0, dt.date(1970, 1, 1), 0, decomposition.spans)
            if len(rows.runs) == 1 and decomposition.spans == SPANS_A_TRACE:
                made.append(Template(rows.runs[0], rows.calls, rows.tools))
    return made


def _deltas() -> int:
    from ingest.models import RollupDelta

    return RollupDelta.objects.count()


def _analyze() -> None:
    """What autovacuum would have done by itself in two weeks."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) ingest_run, ingest_call, ingest_tool, ingest_rollup, ingest_rollup_key")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="of 12 spans each (default %(default)s)")
    parser.add_argument("--days", type=int, default=DAYS, help="over how many days up to now (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="no longer than this (default %(default)s)")
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    import django

    django.setup()
    from ingest import collector

    collector.calm()
    json.dump(fill(asked.runs, asked.days, asked.seconds), sys.stdout)


if __name__ == "__main__":
    main()

"""Sends loads to one instance, waits until their runs are written, and keeps what each must have led to."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg

from tests.instance import ROOT, Instance
from tests.polling import until

GENERATOR = ROOT / "tests/tools/otlp_load.py"
SPANS_A_TRACE = 12
UNIT_SPANS = 128 * SPANS_A_TRACE
LOOK_S = 0.5  # what looking costs PostgreSQL counts as the product's
RESTS_WITHIN_S = 150.0  # what a load adds to rollups is folded once a minute
# What one load leaves to be done after it, which is no part of what the next one measures.
OWED = """
    SELECT (SELECT count(*) FROM ingest_dirty_trace) + (SELECT count(*) FROM ingest_rollup_delta)
        + (SELECT count(*) FROM pg_stat_progress_vacuum)
"""


@dataclass(frozen=True)
class Sent:
    """One load: the generator's account of it, and how the backlog stood while it came."""

    name: str
    told: dict[str, Any]
    backlog: Sequence[tuple[float, int]]  # seconds since the generator's process began, traces that waited
    drain_s: float  # from the last acknowledgement until no trace waited

    @property
    def acked(self) -> int:
        return int(self.told["acked"])

    @property
    def decomposed_per_s(self) -> float:
        """Spans a second from the first that was sent until no trace waited."""
        return self.acked / (float(self.told["wall_s"]) + self.drain_s)


class Loads:
    """All loads of one instance."""

    def __init__(self, instance: Instance, database: psycopg.Connection, folder: Path, seconds: float) -> None:
        self.instance, self.database, self.folder, self.seconds = instance, database, folder, seconds
        self.acked = 0
        self.faults: list[str] = []

    def send(self, name: str, spans: int, rate: int = 0) -> Sent:
        """Send whole traces, at full speed or at a rate, and wait until their runs are written."""
        began_s, spans = time.monotonic(), whole(spans)
        say(f"sending {spans:,} spans {f'at {rate:,} a second' if rate else 'at full speed'}: {name}")
        with self._watched() as backlog:
            told = json.loads(
                subprocess.run(
                    self.command(name, spans, rate),
                    stdout=subprocess.PIPE, timeout=self.seconds + 120, check=True,
                ).stdout
            )  # fmt: skip
        drain_s = self.note(name, spans, told)
        return Sent(name, told, [(at_s - began_s, waiting) for at_s, waiting in backlog], drain_s)

    def command(self, name: str, spans: int, rate: int = 0, *more: str) -> list[str]:
        """How the generator is called for a load."""
        where = [f"{self.instance.otlp_http}/v1/traces", f"--truth={self.folder / name}.jsonl"]
        much = [f"--spans={whole(spans)}", f"--rate={rate}", f"--duration={self.seconds}"]
        return [sys.executable, str(GENERATOR), *where, *much, *more]

    def note(self, name: str, spans: int, told: dict[str, Any]) -> float:
        """Count a load that was sent, and wait for its runs; the seconds that took."""
        began_s = time.monotonic()
        if told["acked"] != spans:
            self.faults.append(f"{name}: {told['acked']} of {spans} spans were acknowledged; errors {told['errors']}")
        until(lambda: not self.waiting(), self.seconds, f"the traces of the {name} load are decomposed")
        self.acked += told["acked"]
        return time.monotonic() - began_s

    def waiting(self) -> int:
        """How many traces wait to be decomposed."""
        return _count(self.database)

    def rest(self) -> None:
        """Wait until nothing is owed: all is decomposed and folded into rollups, and no vacuum runs."""
        say("waiting until nothing is owed")
        until(lambda: self.database.execute(OWED).fetchone() == (0,), RESTS_WITHIN_S, "nothing is owed")

    def has_dictionary(self) -> bool:
        """Whether spans are stored with what was learnt from those before."""
        return self.database.execute("SELECT FROM ingest_dictionary LIMIT 1").fetchone() is not None

    def truths(self) -> dict[str, dict[str, Any]]:
        """What the run of each trace must show, by trace id."""
        lines = (line for path in self.folder.glob("*.jsonl") for line in path.read_text().splitlines())
        return {truth["trace_id"]: truth for truth in map(json.loads, lines)}

    @contextmanager
    def _watched(self) -> Iterator[list[tuple[float, int]]]:
        """Looks at the backlog all the while."""
        seen: list[tuple[float, int]] = []
        over = Event()

        def look() -> None:
            with psycopg.connect(self.instance.database_url, autocommit=True) as database:
                while not over.wait(LOOK_S):
                    seen.append((time.monotonic(), _count(database)))

        watcher = Thread(target=look)
        watcher.start()
        try:
            yield seen
        finally:
            over.set()
            watcher.join()


def say(text: str) -> None:
    """A sign of progress, beside the result."""
    print(f"… {text}", file=sys.stderr, flush=True)


def whole(spans: int) -> int:
    """So many spans, rounded up to whole traces in whole batches."""
    return math.ceil(spans / UNIT_SPANS) * UNIT_SPANS


def _count(database: psycopg.Connection) -> int:
    row = database.execute("SELECT count(*) FROM ingest_dirty_trace").fetchone()
    assert row
    return int(row[0])

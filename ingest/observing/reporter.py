"""Each process's own voice: every few seconds a thread writes this process's counts into its row. Now and then it gives
memory back that the process holds free.

Rows hold absolute counts, so a write that is repeated, late or lost changes nothing. A process that is killed
loses what it has counted since its last write; no sum ever goes back.
"""

from __future__ import annotations

import itertools
import logging
import os
import secrets
import socket
import sys
import threading
import time
from collections import deque
from pathlib import Path

import psycopg
import redis
from psycopg.types.json import Jsonb

from ingest.observing import measures, refusals
from ingest.observing.logs import set_role
from ingest.observing.memory import give_back
from ingest.observing.samples import added, grown, taken

log = logging.getLogger(__name__)

FLUSH_S = 5.0
FLUSHES_A_TRIM, WORK_A_TRIM_S = 4, 1.0  # who has hardly worked has nothing to give back
STOP_S = 3.0
RECENT_S = 60.0
QUIET_S = 60.0  # between two lines about the same trouble

NOW_NS = "(extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"  # the database's clock: one for all
ARRIVE = f"""
    INSERT INTO ingest_process (id, role, host, pid, started_unix_ns, seen_unix_ns, ended, rss_bytes, cpu_ns,
                                samples, recent, recent_ns)
    VALUES (%(id)s, %(role)s, %(host)s, %(pid)s, {NOW_NS} - %(age_ns)s, {NOW_NS}, %(ended)s, %(rss_bytes)s,
            %(cpu_ns)s, %(samples)s, %(recent)s, %(recent_ns)s)
    ON CONFLICT (id) DO UPDATE SET samples = excluded.samples, seen_unix_ns = excluded.seen_unix_ns
"""
SAY = f"""
    UPDATE ingest_process SET seen_unix_ns = {NOW_NS}, ended = %(ended)s, rss_bytes = %(rss_bytes)s,
        cpu_ns = %(cpu_ns)s, samples = coalesce(%(samples)s, samples), recent = %(recent)s, recent_ns = %(recent_ns)s
    WHERE id = %(id)s
"""


class Reporter:
    """Writes this process's counts until it is stopped. Nothing that fails here reaches what is counted."""

    def __init__(self, role: str, database_url: str, redis_url: str) -> None:
        self.role, self.database_url, self.redis_url = role, database_url, redis_url
        self.id = secrets.token_hex(12)
        self._began = time.monotonic()
        # A forked process starts with its parent's counts, which are not its own.
        self._base = taken(measures.REGISTRY)
        self._written: dict[str, float] | None = None  # what the row holds; None while there is no row
        self._minute: deque[tuple[float, dict[str, float]]] = deque([(self._began, {})])
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sixstage-reporter", daemon=True)
        self._connection: psycopg.Connection | None = None
        self._valkey: redis.Redis | None = None
        self._complained = -QUIET_S

    def start(self) -> Reporter:
        set_role(self.role)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Say a last time what was counted, and that this process ends."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(STOP_S)
        if not self._thread.is_alive():  # else it waits for a database that is away, and so would we
            self._try(ended=True)
            self.close()

    def close(self) -> None:
        """Leave database and Valkey; the next flush would come back."""
        if self._connection is not None:
            self._connection.close()
        if self._valkey is not None:
            self._valkey.close()

    def _run(self) -> None:
        self._try()
        trimmed_at_s = 0.0  # of the process's own CPU time
        for flush in itertools.count(1):
            if self._stop.wait(FLUSH_S):
                return
            self._try()
            if flush % FLUSHES_A_TRIM == 0 and time.process_time() - trimmed_at_s > WORK_A_TRIM_S:
                give_back()
                trimmed_at_s = time.process_time()

    def _try(self, ended: bool = False) -> None:
        for flush in (self.tell_refusals, lambda: self.flush(ended)):
            try:
                flush()
            except Exception as error:  # of whatever kind: a thread that ended would say nothing ever after
                if time.monotonic() - self._complained > QUIET_S:
                    self._complained = time.monotonic()
                    log.warning("this process's counts are told later: %s", str(error).strip() or type(error).__name__)

    def tell_refusals(self) -> None:
        seen = refusals.REFUSED.take()
        if seen:
            self._valkey = self._valkey or redis.Redis.from_url(self.redis_url, socket_timeout=2)
            refusals.keep(self._valkey, seen)

    def flush(self, ended: bool = False) -> None:
        """Write the counts. Raises psycopg.Error; the next flush then brings them."""
        with self._lock:
            counts = grown(taken(measures.REGISTRY), self._base)
            said = self._said(counts, ended)
            connection = self._connect()
            try:
                if self._written is not None:
                    unchanged = counts == self._written
                    if connection.execute(SAY, said | ({"samples": None} if unchanged else {})).rowcount:
                        self._written = counts
                        return
                    self._begin_anew()
                    counts = grown(taken(measures.REGISTRY), self._base)
                    said = self._said(counts, ended)
                connection.execute(ARRIVE, said)
                self._written = counts
            except psycopg.OperationalError:
                connection.close()
                raise

    def _begin_anew(self) -> None:
        """We were silent for so long that we were taken for dead, and our counts folded: go on with what is new."""
        assert self._written is not None
        self._base = added([self._base, self._written])
        self._written = None
        self._minute = deque([(time.monotonic(), {})])
        self.id = secrets.token_hex(12)

    def _said(self, counts: dict[str, float], ended: bool) -> dict[str, object]:
        now = time.monotonic()
        self._minute.append((now, counts))
        while len(self._minute) > 2 and now - self._minute[1][0] >= RECENT_S:
            self._minute.popleft()
        since, before = self._minute[0]
        return {
            "id": self.id, "role": self.role, "host": socket.gethostname()[:200], "pid": os.getpid(),
            "age_ns": int((now - self._began) * 1e9), "ended": ended, "rss_bytes": rss_bytes(),
            "cpu_ns": time.process_time_ns(), "samples": Jsonb(counts), "recent": Jsonb(grown(counts, before)),
            "recent_ns": int((now - since) * 1e9),
        }  # fmt: skip

    def _connect(self) -> psycopg.Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(
                self.database_url, autocommit=True, connect_timeout=2, application_name="sixstage-reporter",
                options="-c statement_timeout=5000",
            )  # fmt: skip
        return self._connection


def rss_bytes() -> int | None:
    """This process's resident memory; None where the system does not tell."""
    if sys.platform != "linux":
        return None
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

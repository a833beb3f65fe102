"""Whether more can be taken in at all: is there room on the disk, and do the workers keep up?

Looked at every few seconds beside the requests, never within one. What is refused is refused before its body is read,
with a time to come back, and nothing that was acknowledged is ever given up for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from django.conf import settings
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ingest.otlp.errors import Behind, IngestError, NoRoom

log = logging.getLogger(__name__)

LOOK_S = 3.0
SIZE_EVERY_S = 30.0  # asking for the database's size looks at every file of it
CALM = 0.9  # of a limit, at which what was refused is taken again: no flickering at the limit itself
WAIT_LEAST_S, WAIT_MOST_S = 2.0, 60.0

# Poison traces, set aside after their last try, are nobody's backlog. At most one more is counted than is asked about.
BACKLOG = """
    SELECT count(*), min(due_unix_ns) FROM (
        SELECT due_unix_ns FROM ingest_dirty_trace WHERE due_unix_ns <= %(now_ns)s AND error = ''
        ORDER BY due_unix_ns LIMIT %(most)s
    ) AS waiting
"""
DATABASE_BYTES = "SELECT pg_database_size(current_database())"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """When to refuse; 0 means never. ``disk`` is the folder of an embedded database, None for one elsewhere."""

    disk: Path | None = None
    min_free_bytes: int = 0
    max_database_bytes: int = 0
    backlog_traces: int = 0
    backlog_age_s: int = 0


def configured_bounds() -> Bounds:
    return Bounds(
        disk=settings.SIXSTAGE_DISK_PATH,
        min_free_bytes=settings.SIXSTAGE_MIN_FREE_BYTES,
        max_database_bytes=settings.SIXSTAGE_MAX_DATABASE_BYTES,
        backlog_traces=settings.SIXSTAGE_BACKLOG_TRACES,
        backlog_age_s=settings.SIXSTAGE_BACKLOG_AGE_S,
    )


@dataclass(slots=True)
class DrainRate:
    """How fast something empties, in units a second, forgetting what was more than some seconds ago."""

    remember_s: float = 5.0
    per_s: float = 0.0
    at_s: float = 0.0

    def note(self, amount: float, now_s: float) -> None:
        passed = max(1e-3, now_s - self.at_s)
        kept = max(0.0, 1 - passed / self.remember_s)
        self.per_s = self.per_s * kept + amount / max(passed, self.remember_s)
        self.at_s = now_s

    def seconds_for(self, amount: float, default_s: float) -> float:
        return amount / self.per_s if self.per_s > 0 else default_s


class Pressure:
    """Refuses requests while ``trouble`` stands. ``about`` says it in words, for pages and probes."""

    def __init__(self, bounds: Bounds) -> None:
        self.bounds = bounds
        self.trouble: Behind | NoRoom | None = None
        self.backlog_traces: int | None = None  # up to one more than the bound
        self._wait_s = LOOK_S
        self._was_behind: tuple[float, int] | None = None
        self._size: tuple[float, int] = (-SIZE_EVERY_S, 0)

    def admit(self) -> None:
        """Raises Behind or NoRoom."""
        if self.trouble is not None:
            # Anew for each, so that each gets a time of its own to come back.
            raise type(self.trouble)(str(self.trouble), self._wait_s)

    @property
    def about(self) -> str | None:
        return None if self.trouble is None else str(self.trouble)

    async def watch(self, pool: AsyncConnectionPool) -> None:
        """Look for ever. A database that does not answer is for the store to tell, not for us."""
        while True:
            began = time.monotonic()
            with contextlib.suppress(psycopg.Error, PoolTimeout, OSError):
                await self.look(pool)
            # A look that takes long is not to be taken often.
            await asyncio.sleep(max(LOOK_S, 20 * (time.monotonic() - began)))

    async def look(self, pool: AsyncConnectionPool) -> None:
        found: IngestError | None = await asyncio.to_thread(self._disk)
        try:
            found = found or await self._database(pool) or await self._backlog(pool)
        finally:
            self._say(found)

    def _say(self, found: IngestError | None) -> None:
        if found is not None and type(found) is not type(self.trouble):
            log.warning("ingest is refused: %s", found)
        elif found is None and self.trouble is not None:
            log.warning("ingest is taken again")
        self.trouble = found  # type: ignore[assignment]

    def _disk(self) -> NoRoom | None:
        calm = 1 / CALM if isinstance(self.trouble, NoRoom) else 1.0
        why = disk_trouble(self.bounds, calm)
        if why is None:
            return None
        self._wait_s = 20.0
        return NoRoom(why)

    async def _database(self, pool: AsyncConnectionPool) -> NoRoom | None:
        if not self.bounds.max_database_bytes:
            return None
        looked, size = self._size
        if time.monotonic() - looked >= SIZE_EVERY_S:
            async with pool.connection() as connection:
                row = await (await connection.execute(DATABASE_BYTES)).fetchone()
            size = int(row[0]) if row else 0
            self._size = time.monotonic(), size
        why = database_trouble(self.bounds, size, CALM if isinstance(self.trouble, NoRoom) else 1.0)
        if why is None:
            return None
        self._wait_s = 30.0
        return NoRoom(why)

    async def _backlog(self, pool: AsyncConnectionPool) -> Behind | None:
        bounds = self.bounds
        if not bounds.backlog_traces and not bounds.backlog_age_s:
            return None
        now_ns = time.time_ns()
        most = bounds.backlog_traces + 1 if bounds.backlog_traces else 1
        async with pool.connection() as connection:
            found = await connection.execute(BACKLOG, {"now_ns": now_ns, "most": most}, prepare=False)
            row = await found.fetchone()
        count, oldest_ns = row if row else (0, None)
        self.backlog_traces = count
        calm = CALM if isinstance(self.trouble, Behind) else 1.0
        over = count - bounds.backlog_traces * calm if bounds.backlog_traces else 0.0
        age_s = (now_ns - oldest_ns) / 1e9 if oldest_ns is not None else 0.0
        too_old = bool(bounds.backlog_age_s) and age_s > bounds.backlog_age_s * calm
        if over <= 0 and not too_old:
            self._was_behind = None
            return None
        self._wait_s = self._until_calm_s(count, max(over, count * (1 - CALM)))
        what = f"{count} traces wait" if over > 0 else f"the oldest trace waits {age_s:.0f} s"
        return Behind(f"{what} to be decomposed; are enough workers running? Nothing is lost, send again later")

    def _until_calm_s(self, count: int, over: float) -> float:
        """By how fast the backlog has shrunk since the last look, while nothing more was taken."""
        now_s = time.monotonic()
        before, self._was_behind = self._was_behind, (now_s, count)
        if before is None or before[1] <= count:
            return 5.0
        per_s = (before[1] - count) / max(1e-3, now_s - before[0])
        return min(WAIT_MOST_S, max(WAIT_LEAST_S, over / per_s))


def disk_trouble(bounds: Bounds, calm: float = 1.0) -> str | None:
    """Why the disk of an embedded database takes no more; None while it does."""
    if bounds.disk is None or not bounds.min_free_bytes:
        return None
    try:
        found = os.statvfs(bounds.disk)
    except FileNotFoundError:
        return None  # before the first start
    free = found.f_bavail * found.f_frsize
    if free >= bounds.min_free_bytes * calm:
        return None
    return (
        f"only {free >> 20} MiB are free where the database lies, under SIXSTAGE_MIN_FREE_BYTES="
        f"{bounds.min_free_bytes}: make room, or keep fewer days (SIXSTAGE_RETENTION_DAYS)"
    )


def database_trouble(bounds: Bounds, size_bytes: int, calm: float = 1.0) -> str | None:
    """Why a database of this size takes no more; None while it does."""
    if not bounds.max_database_bytes or size_bytes <= bounds.max_database_bytes * calm:
        return None
    return (
        f"the database has {size_bytes} bytes, over SIXSTAGE_MAX_DATABASE_BYTES={bounds.max_database_bytes}: raise it, "
        "or keep fewer days (SIXSTAGE_RETENTION_DAYS)"
    )

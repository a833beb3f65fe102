"""Durable storage of what was received. A reply waits for its commit; concurrent requests share one.

In one transaction: traces are given their day, chunks are inserted (a retry's identical chunk is not), and
their traces are marked dirty. The mark is the truth that work is owed; waking a worker is only a courtesy.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ingest.compression import Compressors
from ingest.observing import commits
from ingest.otlp.errors import BadData, IngestError, NoRoom, Overloaded, StoreUnavailable
from ingest.otlp.split import Remainder, TracePart, digest
from ingest.pressure import DrainRate

log = logging.getLogger(__name__)

COMMIT_BYTES = 8 << 20  # what one transaction may hold, uncompressed
WRITERS = 2
LOOKING = 1  # connections beside the writers': keys, dictionaries, how far the workers are behind
IDLE_S = 10.0  # then one that was not needed is closed: its server process holds up to 13 MB after a burst
WAIT_MOST_S = 30.0
# A trace of whose end nothing has come yet waits so long for more of it: the spans of one second reach us in requests
# that come close together (a collector sends five a second), and each pass costs as much as the first.
GATHER_NS = 300_000_000

PLACE_TRACES = """
    INSERT INTO ingest_trace (trace_id, project_id, day)
    SELECT DISTINCT trace_id, project_id, %(day)s::date
    FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[]) AS new (trace_id, project_id)
    ORDER BY trace_id, project_id
    ON CONFLICT DO NOTHING
"""
INSERT_CHUNKS = """
    INSERT INTO ingest_chunk (day, project_id, trace_id, digest, signal, received_unix_ns, items, body)
    SELECT trace.day, new.project_id, new.trace_id, new.digest, new.signal, %(now_ns)s, new.items, new.body
    FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[], %(digests)b::bigint[], %(signals)b::smallint[],
                %(items)b::int[], %(bodies)b::bytea[]) AS new (trace_id, project_id, digest, signal, items, body)
    JOIN ingest_trace AS trace USING (trace_id, project_id)
    ON CONFLICT DO NOTHING
"""
MARK_DIRTY = """
    INSERT INTO ingest_dirty_trace AS dirty (trace_id, project_id, day, generation, received_unix_ns,
                                             due_unix_ns, claimed_until_unix_ns, tries, error)
    SELECT trace_id, project_id, trace.day, 1, %(now_ns)s, min(new.due_unix_ns), 0, 0, ''
    FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[], %(dues)b::bigint[])
        AS new (trace_id, project_id, due_unix_ns)
    JOIN ingest_trace AS trace USING (trace_id, project_id)
    GROUP BY trace_id, project_id, trace.day
    ORDER BY trace_id, project_id
    ON CONFLICT (trace_id, project_id) DO UPDATE
    SET generation = dirty.generation + 1, received_unix_ns = excluded.received_unix_ns,
        due_unix_ns = CASE WHEN dirty.claimed_until_unix_ns >= %(now_ns)s THEN excluded.due_unix_ns
                           ELSE least(dirty.due_unix_ns, excluded.due_unix_ns) END,
        tries = 0, error = ''
"""
INSERT_BODY = """
    INSERT INTO ingest_body (day, project_id, signal, digest, received_unix_ns, items, body)
    VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT DO NOTHING
"""


@dataclass(slots=True)
class Batch:
    """What one request brings, compressed, and the promise that its sender waits for."""

    project_id: int
    parts: Sequence[TracePart]
    rest: Remainder | None
    bodies: Sequence[bytes]
    rest_body: bytes
    size_bytes: int
    stored: asyncio.Future[None]


class Store:
    """Takes batches, keeps them in memory only until they are committed, and refuses more than it may hold.

    ``woken`` is called after each commit that left traces to decompose, with the seconds until they are due. It must
    return at once. ``gather_ns`` is how long traces wait of whose end nothing has come.
    """

    def __init__(
        self, database_url: str, pending_limit_bytes: int, woken: Callable[[float], None], gather_ns: int = GATHER_NS
    ) -> None:
        self.pool = AsyncConnectionPool(
            database_url, min_size=1, max_size=WRITERS + LOOKING, max_idle=IDLE_S, open=False, timeout=5,
            reconnect_timeout=30, kwargs={"application_name": "sixstage-store", "prepare_threshold": 1},
        )  # fmt: skip
        self.compressors = Compressors(self.pool)
        self.pending_limit_bytes = pending_limit_bytes
        self.woken = woken
        self.gather_ns = gather_ns
        self.pending_bytes = 0
        self.trouble: str | None = None  # what the last commit failed of; None after one that went well
        self._drained = DrainRate()
        self._queue: asyncio.Queue[Batch] = asyncio.Queue()
        self._writers: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Store:
        await self.pool.open(wait=False)
        self._writers = [asyncio.create_task(self._write_forever()) for _ in range(WRITERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._queue.join()
        for writer in self._writers:
            writer.cancel()
        await asyncio.gather(*self._writers, return_exceptions=True)
        await self.compressors.close()
        await self.pool.close()

    async def keep(self, project_id: int, parts: Sequence[TracePart], rest: Remainder | None) -> None:
        """Returns once everything is committed.

        Raises Overloaded, StoreUnavailable (both to be retried by the client) or BadData.
        """
        if not parts and rest is None:
            return
        size = sum(len(part.content) for part in parts) + (len(rest.content) if rest else 0)
        if self.pending_bytes and self.pending_bytes + size > self.pending_limit_bytes:
            wait_s = min(WAIT_MOST_S, self._drained.seconds_for(self.pending_bytes, 1.0))
            raise Overloaded(f"{self.pending_bytes >> 20} MiB wait to be stored; send again in a while", wait_s)
        compress = self.compressors.of(project_id).compress
        batch = Batch(
            project_id, parts, rest, [compress(part.content) for part in parts],
            compress(rest.content) if rest else b"", size, asyncio.get_running_loop().create_future(),
        )  # fmt: skip
        self.pending_bytes += size
        batch.stored.add_done_callback(lambda stored: self._release(size, stored))
        self._queue.put_nowait(batch)
        await asyncio.shield(batch.stored)

    def _release(self, size_bytes: int, stored: asyncio.Future[None]) -> None:
        """A batch waits no longer, whether or not its client still does."""
        self.pending_bytes -= size_bytes
        if not stored.cancelled():
            stored.exception()  # seen, even if the client has left

    async def _write_forever(self) -> None:
        while True:
            batches = [await self._queue.get()]
            size = batches[0].size_bytes
            while size < COMMIT_BYTES and not self._queue.empty():
                batches.append(self._queue.get_nowait())
                size += batches[-1].size_bytes
            try:
                await self._commit(batches)
            finally:
                for _ in batches:
                    self._queue.task_done()

    async def _commit(self, batches: list[Batch]) -> None:
        """One transaction for all; where the data itself is refused, one for each, so that only the bad one fails."""
        try:
            await self._write(batches)
        except psycopg.errors.CheckViolation as error:
            log.error("there is no partition to store into; is the worker, which makes them, running? %s", error)
            self.trouble = "there is no partition for this day"
            _settle(batches, StoreUnavailable("the store is not ready for this day; send again in two seconds"))
        except (psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError) as error:
            if len(batches) == 1:
                log.exception("a batch could not be stored")
                _settle(batches, BadData(f"the store refuses this batch: {error}"))
                return
            for batch in batches:
                await self._commit([batch])
        except psycopg.errors.DiskFull as error:
            log.error("PostgreSQL's disk is full: %s", error)
            self.trouble = "PostgreSQL's disk is full"
            _settle(batches, NoRoom("PostgreSQL's disk is full; nothing was stored, send again later"))
        except (psycopg.Error, PoolTimeout, OSError) as error:
            log.warning("the database took nothing: %s", error)
            self.trouble = "the database is not reachable"
            _settle(batches, StoreUnavailable("the database is not reachable; send again in two seconds"))
        except BaseException:
            _settle(batches, StoreUnavailable("the receiver is stopping; send again in two seconds"))
            raise
        else:
            self.trouble = None
            self._drained.note(sum(batch.size_bytes for batch in batches), time.monotonic())
            _settle(batches, None)
            for ends in {part.ends for batch in batches for part in batch.parts}:
                self.woken(0.0 if ends else self.gather_ns / 1e9)

    async def _write(self, batches: list[Batch]) -> None:
        now_ns, began_s = time.time_ns(), time.perf_counter()
        day = dt.datetime.fromtimestamp(now_ns / 1e9, dt.UTC).date()
        columns = _columns(batches, now_ns, now_ns + self.gather_ns) | {"day": day, "now_ns": now_ns}
        bodies = [
            (day, b.project_id, b.rest.signal, digest(b.rest.content), now_ns, b.rest.items, b.rest_body)
            for b in batches
            if b.rest
        ]
        async with self.pool.connection() as connection, connection.pipeline(), connection.cursor() as cursor:
            inserted = None
            if columns["trace_ids"]:
                await cursor.execute(PLACE_TRACES, columns)
                inserted = await connection.execute(INSERT_CHUNKS, columns)
                await cursor.execute(MARK_DIRTY, columns)
            if bodies:
                await cursor.executemany(INSERT_BODY, bodies)
        commits.committed(batches, began_s, inserted.rowcount if inserted else 0)


def _columns(batches: list[Batch], now_ns: int, later_ns: int) -> dict[str, object]:
    """The batches' chunks as one array a column, in the order of trace ids so that writers never cross. Those of
    traces whose end has come are due now, others later."""
    rows = sorted(
        (
            (part, body, batch.project_id)
            for batch in batches
            for part, body in zip(batch.parts, batch.bodies, strict=True)
        ),
        key=lambda row: (row[0].trace_id, row[2]),
    )
    return {
        "trace_ids": [part.trace_id for part, _, _ in rows],
        "project_ids": [project_id for _, _, project_id in rows],
        "digests": [digest(part.content) for part, _, _ in rows],
        "signals": [int(part.signal) for part, _, _ in rows],
        "items": [part.items for part, _, _ in rows],
        "dues": [now_ns if part.ends else later_ns for part, _, _ in rows],
        "bodies": [body for _, body, _ in rows],
    }


def _settle(batches: list[Batch], error: IngestError | None) -> None:
    for batch in batches:
        if not batch.stored.done():
            if error is None:
                batch.stored.set_result(None)
            else:
                # One for each, so that each client is given a time of its own to come back.
                batch.stored.set_exception(type(error)(str(error)))

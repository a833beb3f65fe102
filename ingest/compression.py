"""Compression of what is stored. Chunks are small and alike (the same attribute names, prompts and tool schemas
again and again), so each project gets dictionaries, trained on its own traffic.

Measured on the load of the benchmarks: 382 bytes a span without, 206 with a dictionary of 256 KiB (211 with 112),
at the same CPU. A body names its dictionary in its zstd frame; bodies from before the first one have none.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from functools import lru_cache

import psycopg
import zstandard
from django.db import connection
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ingest.models.telemetry import Signal

LEVEL = 3
FIRST_ID = 32_768  # ids below are reserved by the format for public dictionaries
DICTIONARY_BYTES = 256 << 10
SAMPLES, SAMPLES_LEAST = 600, 300
SAMPLE_BYTES_MOST = 64 << 10  # of one chunk; a huge prompt must not fill the dictionary by itself
KEEP_NS = 86_400 * 10**9  # traffic changes: a dictionary is trained anew after a day
GAIN_LEAST = 0.05
LOOK_S = 15.0

NEWEST = "SELECT id, body FROM ingest_dictionary WHERE project_id = %s ORDER BY id DESC LIMIT 1"


class Compressors:
    """The compressor of each project's newest dictionary, looked up again every LOOK_S seconds.

    Looking never holds a request up: it goes on with what is known, at first without a dictionary.
    """

    def __init__(self, pool: AsyncConnectionPool) -> None:
        self.pool = pool
        self.looking: dict[int, asyncio.Task[None]] = {}
        self._known: dict[int, tuple[float, int | None, zstandard.ZstdCompressor]] = {}

    def of(self, project_id: int) -> zstandard.ZstdCompressor:
        looked, _, compressor = self._known.get(project_id, (-LOOK_S, None, plain_compressor()))
        if time.monotonic() - looked >= LOOK_S and project_id not in self.looking:
            task = asyncio.create_task(self._look(project_id))
            self.looking[project_id] = task
            task.add_done_callback(lambda _: self.looking.pop(project_id, None))
        return compressor

    async def close(self) -> None:
        for task in (tasks := list(self.looking.values())):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self, project_id: int) -> None:
        _, known_id, compressor = self._known.get(project_id, (0.0, None, plain_compressor()))
        try:
            async with self.pool.connection() as given:
                row = await (await given.execute(NEWEST, [project_id])).fetchone()
        except (psycopg.Error, PoolTimeout, OSError):
            row = None  # the database does not answer; the next look will
        if row is not None and row[0] != known_id:
            dictionary = zstandard.ZstdCompressionDict(bytes(row[1]))
            dictionary.precompute_compress(level=LEVEL)
            known_id, compressor = row[0], zstandard.ZstdCompressor(LEVEL, dict_data=dictionary)
        self._known[project_id] = (time.monotonic(), known_id, compressor)


@lru_cache(maxsize=1)
def plain_compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(LEVEL)


def decompress(body: bytes) -> bytes:
    """A stored body's content, whichever dictionary it was made with."""
    return unfold(body, _dictionary)


def unfold(body: bytes, dictionary: Callable[[int], zstandard.ZstdCompressionDict]) -> bytes:
    """A stored body's content, with its dictionary by ``dictionary(id)``."""
    dictionary_id = zstandard.get_frame_parameters(body).dict_id
    # A decompressor of one's own for each call: threads must not share one, and it costs next to nothing.
    if not dictionary_id:
        return zstandard.ZstdDecompressor().decompress(body)
    return zstandard.ZstdDecompressor(dict_data=dictionary(dictionary_id)).decompress(body)


@lru_cache(maxsize=64)
def _dictionary(dictionary_id: int) -> zstandard.ZstdCompressionDict:
    with connection.cursor() as cursor:
        cursor.execute("SELECT body FROM ingest_dictionary WHERE id = %s", [dictionary_id])
        row = cursor.fetchone()
    if row is None:
        raise LookupError(f"the dictionary {dictionary_id} of a stored chunk is gone")
    return zstandard.ZstdCompressionDict(bytes(row[0]))


def train_due(now_ns: int) -> list[int]:
    """Train a dictionary for each project whose newest is a day old or missing; returns the projects that got one."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT project.id FROM ingest_project AS project WHERE NOT EXISTS (
                   SELECT 1 FROM ingest_dictionary AS d WHERE d.project_id = project.id AND d.created_unix_ns > %s)""",
            [now_ns - KEEP_NS],
        )
        due = [project_id for (project_id,) in cursor.fetchall()]
    return [project_id for project_id in due if _train(project_id, now_ns)]


def _train(project_id: int, now_ns: int) -> bool:
    samples = _samples(project_id)
    if len(samples) < SAMPLES_LEAST:
        return False
    held_out, learnt = samples[::10], [sample for i, sample in enumerate(samples) if i % 10]
    with connection.cursor() as cursor:
        cursor.execute("SELECT nextval(pg_get_serial_sequence('ingest_dictionary', 'id'))")
        dictionary_id = FIRST_ID + int(cursor.fetchone()[0])
        try:
            trained = zstandard.train_dictionary(DICTIONARY_BYTES, learnt, dict_id=dictionary_id)
        except zstandard.ZstdError:
            return False  # too little or too random; tried again later
        if not _gains(trained, held_out):
            return False
        cursor.execute(
            "INSERT INTO ingest_dictionary (id, project_id, created_unix_ns, body) VALUES (%s, %s, %s, %s)",
            [dictionary_id, project_id, now_ns, trained.as_bytes()],
        )
    return True


def _samples(project_id: int) -> list[bytes]:
    """Chunks from all over the newest two thousand, decompressed, in a random order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT body FROM ingest_chunk WHERE project_id = %s AND signal = %s AND length(body) < %s
               ORDER BY day DESC LIMIT 2000""",
            [project_id, int(Signal.TRACES), SAMPLE_BYTES_MOST],
        )
        bodies = [bytes(body) for (body,) in cursor.fetchall()]
    chosen = random.Random(len(bodies)).sample(bodies, min(SAMPLES, len(bodies)))
    return [decompress(body)[:SAMPLE_BYTES_MOST] for body in chosen]


def _gains(trained: zstandard.ZstdCompressionDict, held_out: Sequence[bytes]) -> bool:
    """Whether samples that it has not seen become smaller by it."""
    with_it, without = zstandard.ZstdCompressor(LEVEL, dict_data=trained), plain_compressor()
    sizes = [sum(len(one.compress(sample)) for sample in held_out) for one in (with_it, without)]
    return sizes[0] <= (1 - GAIN_LEAST) * sizes[1]


def drop_unused(now_ns: int, keep_days: int) -> int:
    """Forget dictionaries that were replaced before anything still kept was stored; returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM ingest_dictionary AS old WHERE EXISTS (
                   SELECT 1 FROM ingest_dictionary AS newer WHERE newer.project_id = old.project_id
                   AND newer.id > old.id AND newer.created_unix_ns < %s)""",
            [now_ns - (keep_days + 2) * 86_400 * 10**9],
        )
        return int(cursor.rowcount)

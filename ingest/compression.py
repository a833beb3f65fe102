"""Compression of what is stored. Chunks are small and alike (the same attribute names, prompts and tool schemas
again and again), so each project gets dictionaries, trained on its own traffic.

Measured on the load of the benchmarks: 382 bytes a span without, 206 with a dictionary of 256 KiB (211 with 112),
at the same CPU. A body names its dictionary in its zstd frame; bodies from before the first one have none.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
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
KEEP_FIRST_NS = 3_600 * 10**9  # the first has seen a minute of traffic
GAIN_LEAST = 0.05
TRY_AGAIN_S = 600.0  # where samples teach nothing
LOOK_S, LOOK_FIRST_S = 15.0, 2.0
MAX_DECOMPRESSORS = 8  # of a thread: each holds 160 KB

NEWEST = "SELECT id, body FROM ingest_dictionary WHERE project_id = %s ORDER BY id DESC LIMIT 1"


class Compressors:
    """The compressor of each project's newest dictionary, looked up again every LOOK_S seconds.

    Sooner while there is none: without one a span takes twice the bytes.

    Looking never holds a request up: it goes on with what is known, at first without a dictionary.
    """

    def __init__(self, pool: AsyncConnectionPool) -> None:
        self.pool = pool
        self.looking: dict[int, asyncio.Task[None]] = {}
        self._known: dict[int, tuple[float, int | None, zstandard.ZstdCompressor]] = {}

    def of(self, project_id: int) -> zstandard.ZstdCompressor:
        looked, known_id, compressor = self._known.get(project_id, (-LOOK_S, None, plain_compressor()))
        again_s = LOOK_FIRST_S if known_id is None else LOOK_S
        if time.monotonic() - looked >= again_s and project_id not in self.looking:
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
    return _decompressor(zstandard.get_frame_parameters(body).dict_id).decompress(body)


class _OfThread(threading.local):
    """Threads must not share a decompressor; one for each chunk costs twice the reading of it."""

    def __init__(self) -> None:
        self.by_dictionary: dict[int, zstandard.ZstdDecompressor] = {}


_mine = _OfThread()


def _decompressor(dictionary_id: int) -> zstandard.ZstdDecompressor:
    kept = _mine.by_dictionary
    if dictionary_id not in kept:
        made = zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary_id) if dictionary_id else None)
        if len(kept) >= MAX_DECOMPRESSORS:
            kept.clear()
        kept[dictionary_id] = made
    return kept[dictionary_id]


@lru_cache(maxsize=64)
def _dictionary(dictionary_id: int) -> zstandard.ZstdCompressionDict:
    with connection.cursor() as cursor:
        cursor.execute("SELECT body FROM ingest_dictionary WHERE id = %s", [dictionary_id])
        row = cursor.fetchone()
    if row is None:
        raise LookupError(f"the dictionary {dictionary_id} of a stored chunk is gone")
    return zstandard.ZstdCompressionDict(bytes(row[0]))


# Projects whose dictionary is missing or old, and that have chunks to learn from. Asked every few seconds.
DUE = """
    SELECT project.id FROM ingest_project AS project
    LEFT JOIN LATERAL (
        SELECT count(*) AS made, max(created_unix_ns) AS newest FROM ingest_dictionary WHERE project_id = project.id
    ) AS had ON true
    WHERE (had.made = 0 OR had.newest < %(now_ns)s - CASE had.made WHEN 1 THEN %(first_ns)s ELSE %(keep_ns)s END)
      AND project.id <> ALL(%(vain)s)
      AND (SELECT count(*) FROM (
              SELECT FROM ingest_chunk WHERE project_id = project.id AND signal = %(signal)s LIMIT %(least)s
          ) AS few) >= %(least)s
"""


def train_due(now_ns: int) -> list[int]:
    """Train a dictionary for each project that is due one; returns the projects that got one."""
    began_s = time.monotonic()
    vain = [project_id for project_id, until_s in _vain_until.items() if began_s < until_s]
    with connection.cursor() as cursor:
        cursor.execute(
            DUE,
            {
                "now_ns": now_ns, "first_ns": KEEP_FIRST_NS, "keep_ns": KEEP_NS, "vain": vain,
                "signal": int(Signal.TRACES), "least": SAMPLES_LEAST,
            },
        )  # fmt: skip
        due = [project_id for (project_id,) in cursor.fetchall()]
    trained = [project_id for project_id in due if _train(project_id, now_ns)]
    _vain_until.update(dict.fromkeys({*due} - {*trained}, began_s + TRY_AGAIN_S))
    return trained


_vain_until: dict[int, float] = {}


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
    """Chunks from all over the newest two thousand, decompressed, in the order of their digests, which is no order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """WITH newest AS MATERIALIZED (
                   SELECT digest, body FROM ingest_chunk WHERE project_id = %s AND signal = %s AND length(body) < %s
                   ORDER BY day DESC LIMIT 2000
               ) SELECT body FROM newest ORDER BY digest LIMIT %s""",
            [project_id, int(Signal.TRACES), SAMPLE_BYTES_MOST, SAMPLES],
        )
        return [decompress(bytes(body))[:SAMPLE_BYTES_MOST] for (body,) in cursor.fetchall()]


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

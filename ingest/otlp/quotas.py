"""How much each project may send: spans a second, with a burst, and bytes a day.

Spans are counted in this process alone, so with several receivers each lets its share through. Bytes of a day are
added up in the database every few seconds, by all of them; what comes in between is let through.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import time
from dataclasses import dataclass

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ingest.otlp.errors import OverLimit
from ingest.otlp.keys import Rules

SHARE_S = 3.0
BURST_S = 10.0  # of its rate a project may send at once after a pause
WAIT_MOST_S = 300.0  # what a client is told where the day's rest is longer

ADD_DAY = """
    INSERT INTO ingest_projectday AS known (project_id, day, bytes)
    SELECT id, %(day)s, %(bytes)s FROM ingest_project WHERE id = %(project_id)s
    ON CONFLICT (project_id, day) DO UPDATE SET bytes = known.bytes + excluded.bytes RETURNING bytes
"""


@dataclass(slots=True)
class _Spans:
    """A token bucket that may fall into debt: a batch larger than the burst is let through, and paid off after."""

    rate: int
    left: float
    at_s: float

    def fill(self, rate: int, now_s: float) -> None:
        if rate != self.rate:  # the limit was changed: as after a pause
            self.rate, self.left = rate, rate * BURST_S
        self.left = min(rate * BURST_S, self.left + (now_s - self.at_s) * rate)
        self.at_s = now_s


@dataclass(slots=True)
class _Bytes:
    """A day's bytes: what all processes had sent at the last sharing, and what this one has since."""

    day: dt.date
    shared: int = 0
    since: int = 0
    is_known: bool = False


class Quotas:
    """Admits a project's requests, and counts what was stored of them."""

    def __init__(self) -> None:
        self._spans: dict[int, _Spans] = {}
        self._bytes: dict[int, _Bytes] = {}

    def admit(self, rules: Rules) -> None:
        """Raises OverLimit where the project has used up what it may send."""
        if rules.spans_per_s is not None:
            left = self._bucket(rules.project_id, rules.spans_per_s).left
            if left <= 0:
                wait_s = (1 - left) / max(1, rules.spans_per_s)
                raise OverLimit(
                    f"this project may send {rules.spans_per_s} spans a second (Settings → Limits); "
                    "send again after the time told",
                    min(wait_s, WAIT_MOST_S),
                )
        if rules.bytes_per_day is not None:
            sent = self._day(rules.project_id)
            if sent.shared + sent.since >= rules.bytes_per_day:
                raise OverLimit(
                    f"this project has sent the {rules.bytes_per_day} bytes that it may send on a day "
                    "(Settings → Limits); the next begins at 00:00 UTC",
                    min(_rest_of_day_s(), WAIT_MOST_S),
                )

    def spend(self, rules: Rules, items: int, size_bytes: int) -> None:
        """Count what is about to be stored, so that requests at the same time do not all pass for the first."""
        if rules.spans_per_s is not None:
            self._bucket(rules.project_id, rules.spans_per_s).left -= items
        if rules.bytes_per_day is not None:
            self._day(rules.project_id).since += size_bytes

    def give_back(self, rules: Rules, items: int, size_bytes: int) -> None:
        """For what was not stored after all."""
        self.spend(rules, -items, -size_bytes)

    async def share_forever(self, pool: AsyncConnectionPool) -> None:
        """Share every few seconds, and what is left when the process stops."""
        try:
            while True:
                await asyncio.sleep(SHARE_S)
                await self._share_calmly(pool)
        finally:
            await self._share_calmly(pool)

    async def _share_calmly(self, pool: AsyncConnectionPool) -> None:
        with contextlib.suppress(psycopg.Error, PoolTimeout, OSError):  # counted on, and shared the next time
            await self.share(pool)

    async def share(self, pool: AsyncConnectionPool) -> None:
        """Add this process's bytes to the day's, and learn what the others have sent."""
        today = _today()
        for project_id, sent in list(self._bytes.items()):
            if sent.day != today and not sent.since:
                del self._bytes[project_id]
                continue
            if sent.is_known and not sent.since:
                continue
            added, sent.since = max(0, sent.since), 0
            sent.shared += added
            try:
                async with pool.connection() as connection:
                    found = await connection.execute(
                        ADD_DAY, {"project_id": project_id, "day": sent.day, "bytes": added}
                    )
                    row = await found.fetchone()
            except BaseException:
                sent.shared, sent.since = sent.shared - added, sent.since + added
                raise
            if row:
                sent.shared, sent.is_known = row[0], True

    def _bucket(self, project_id: int, rate: int) -> _Spans:
        now_s = time.monotonic()
        bucket = self._spans.get(project_id)
        if bucket is None:
            bucket = self._spans[project_id] = _Spans(rate, rate * BURST_S, now_s)
        bucket.fill(rate, now_s)
        return bucket

    def _day(self, project_id: int) -> _Bytes:
        today = _today()
        sent = self._bytes.get(project_id)
        if sent is None or sent.day != today:
            sent = self._bytes[project_id] = _Bytes(today)
        return sent


def _today() -> dt.date:
    return dt.datetime.now(dt.UTC).date()


def _rest_of_day_s() -> float:
    now = dt.datetime.now(dt.UTC)
    return 86_400 - (now.hour * 3600 + now.minute * 60 + now.second)

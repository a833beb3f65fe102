"""Targets claimed and their scrapes kept, over a connection of the scraper's own (no ORM: it runs in an event loop).

A target is scraped by one worker at a time: it is claimed with a lease, and what is written is only what the lease
still covers. A worker that dies gives its targets back by doing nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg.rows import dict_row

from ingest.engines.differences import SECOND_NS, Sample, is_reset
from ingest.engines.kept import fold, unfold
from ingest.engines.layout import Layout, layout_from_json
from ingest.engines.pages import Reading, Reason

LEASE_NS = 15 * SECOND_NS  # beside the target's own time-out
CLAIM_MOST = 500
GAP_INTERVALS = 6  # scrapes missed in a row, and what was counted meanwhile is no rate of any moment
SHORTEST_GAP_NS = 30 * SECOND_NS
MS = 1_000_000

CLAIM = """
    WITH due AS (
        SELECT id FROM ingest_engine_target
        WHERE enabled AND url <> '' AND due_unix_ns <= %(now_ns)s
          AND NOT claimed_until_unix_ns BETWEEN %(now_ns)s AND %(never_ns)s
        ORDER BY due_unix_ns LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    UPDATE ingest_engine_target AS target
    SET claimed_until_unix_ns = %(now_ns)s + %(lease_ns)s + target.timeout_ms * 1000000::bigint
    FROM due WHERE target.id = due.id
    RETURNING target.id, target.project_id, target.url, target.kind, target.interval_ms, target.timeout_ms,
              target.credentials, target.tls, target.due_unix_ns, target.claimed_until_unix_ns, target.stretch,
              target.sample_unix_ns
"""
NEXT_DUE = """
    SELECT min(greatest(due_unix_ns, claimed_until_unix_ns)) FROM ingest_engine_target WHERE enabled AND url <> ''
"""
LAST_SAMPLE = """
    SELECT sample.target_id, sample.at_unix_ns, sample.body, sample.layout_id
    FROM unnest(%(ids)s::int[], %(ats)s::bigint[]) AS wanted (target_id, at_unix_ns)
    JOIN ingest_engine_sample AS sample USING (target_id, at_unix_ns)
    WHERE sample.day >= %(since)s
"""
READ_LAYOUTS = "SELECT id, body FROM ingest_engine_layout WHERE id = ANY(%s)"
# Only what is still this worker's; whoever took it over meanwhile writes its own.
SETTLE = """
    UPDATE ingest_engine_target AS target
    SET claimed_until_unix_ns = 0, due_unix_ns = new.due_ns, scraped_unix_ns = new.at_ns,
        sample_unix_ns = CASE WHEN new.ok THEN new.at_ns ELSE target.sample_unix_ns END,
        stretch = new.stretch,
        seen_kind = CASE WHEN new.ok THEN new.kind ELSE target.seen_kind END,
        seen_models = CASE WHEN new.ok THEN new.models::text[] ELSE target.seen_models END,
        failures = CASE WHEN new.ok THEN 0 ELSE target.failures + 1 END,
        failing_since_unix_ns = CASE WHEN new.ok THEN NULL ELSE coalesce(target.failing_since_unix_ns, new.at_ns) END,
        reason = new.reason, detail = new.detail
    FROM unnest(%(ids)s::bigint[], %(leases)s::bigint[], %(dues)s::bigint[], %(ats)s::bigint[], %(oks)s::bool[],
                %(stretches)s::int[], %(kinds)s::text[], %(models)s::text[], %(reasons)s::text[], %(details)s::text[])
        AS new (id, lease, due_ns, at_ns, ok, stretch, kind, models, reason, detail)
    WHERE target.id = new.id AND target.claimed_until_unix_ns = new.lease
    RETURNING target.id
"""
INSERT_SAMPLE = """
    INSERT INTO {table} (at_unix_ns, day, project_id, target_id, layout_id, stretch, took_ms, running, waiting,
                         kv_usage, breaks, body)
    SELECT * FROM unnest(%(at)b::bigint[], %(day)b::date[], %(project)b::int[], %(target)b::int[], %(layout)b::int[],
                         %(stretch)b::int[], %(took)b::int[], %(running)b::float8[], %(waiting)b::float8[],
                         %(kv)b::float8[], %(breaks)b::text[], %(body)b::bytea[])
    ON CONFLICT DO NOTHING
"""
INSERT_FAILURE = """
    INSERT INTO ingest_engine_failure (at_unix_ns, day, project_id, target_id, took_ms, reason, detail)
    SELECT * FROM unnest(%(at)b::bigint[], %(day)b::date[], %(project)b::int[], %(target)b::int[], %(took)b::int[],
                         %(reason)b::text[], %(detail)b::text[])
    ON CONFLICT DO NOTHING
"""
KEEP_LAYOUT = """
    WITH new AS (
        INSERT INTO ingest_engine_layout (digest, body) VALUES (%(digest)s, %(body)s)
        ON CONFLICT (digest) DO NOTHING RETURNING id
    )
    SELECT id FROM new UNION ALL SELECT id FROM ingest_engine_layout WHERE digest = %(digest)s LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A target that this worker may scrape until ``claimed_until_unix_ns``."""

    id: int
    project_id: int
    url: str
    kind: str
    interval_ms: int
    timeout_ms: int
    credentials: bytes | None
    tls: dict[str, Any]
    due_unix_ns: int
    claimed_until_unix_ns: int
    stretch: int
    sample_unix_ns: int | None

    @property
    def longest_gap_ns(self) -> int:
        return longest_gap_ns(self.interval_ms)


def longest_gap_ns(interval_ms: int) -> int:
    """Between two samples that still tell of one stretch of time."""
    return max(SHORTEST_GAP_NS, GAP_INTERVALS * interval_ms * MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Of one scrape: a reading, or the reason why there is none."""

    target: Claimed
    at_unix_ns: int
    took_ms: int
    due_unix_ns: int
    reading: Reading | None = None
    reason: Reason | None = None
    detail: str = ""


@dataclass(slots=True)
class _Last:
    sample: Sample
    stretch: int


@dataclass(slots=True)
class ScrapeStore:
    """Remembers each target's last sample and the layouts' ids; both can be read again."""

    connection: psycopg.AsyncConnection[Any]
    last: dict[int, _Last] = field(default_factory=dict)
    layout_ids: dict[bytes, int] = field(default_factory=dict)
    layouts: dict[int, Layout] = field(default_factory=dict)

    async def claim(self, now_ns: int) -> list[Claimed]:
        """The longest due. ``now_ns`` is the same clock for all workers."""
        async with self.connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(
                CLAIM,
                {"now_ns": now_ns, "never_ns": now_ns + 600 * SECOND_NS, "lease_ns": LEASE_NS, "limit": CLAIM_MOST},
            )
            return [Claimed(**row) for row in await cursor.fetchall()]

    async def now_ns(self) -> int:
        found = await self.connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000")
        row = await found.fetchone()
        assert row is not None
        return int(row[0])

    async def next_due_ns(self) -> int | None:
        """When the next target is due; None where there are none."""
        row = await (await self.connection.execute(NEXT_DUE)).fetchone()
        return None if row is None else row[0]

    async def keep(self, outcomes: Sequence[Outcome]) -> None:
        """All in one transaction."""
        if not outcomes:
            return
        await self._recall([o.target for o in outcomes if o.reading is not None])
        async with self.connection.transaction():
            told = [(outcome, *self._breaks(outcome)) for outcome in outcomes]
            kept = await self._settle(told)
            mine = [one for one in told if one[0].target.id in kept]
            await self._insert_samples([one for one in mine if one[0].reading is not None])
            await self._insert_failures([outcome for outcome, _, _ in mine if outcome.reading is None])
        for outcome, stretch, _ in mine:
            if outcome.reading is not None:
                self.last[outcome.target.id] = _Last(_sample(outcome, outcome.reading), stretch)

    def _breaks(self, outcome: Outcome) -> tuple[int, str]:
        """The stretch that the sample belongs to, and why that began with it."""
        target, last = outcome.target, self.last.get(outcome.target.id)
        if outcome.reading is None:
            return target.stretch, ""
        if last is None or last.sample.at_unix_ns != target.sample_unix_ns:
            return target.stretch + 1, "first"
        why = break_between(last.sample, _sample(outcome, outcome.reading), target.longest_gap_ns)
        return target.stretch + bool(why), why

    async def _recall(self, targets: Sequence[Claimed]) -> None:
        """The last samples of targets that another process has scraped meanwhile."""
        unknown = [
            t for t in targets
            if t.sample_unix_ns is not None
            and (t.id not in self.last or self.last[t.id].sample.at_unix_ns != t.sample_unix_ns)
        ]  # fmt: skip
        if not unknown:
            return
        ats = [t.sample_unix_ns or 0 for t in unknown]
        found = await self.connection.execute(
            LAST_SAMPLE, {"ids": [t.id for t in unknown], "ats": ats, "since": day_of(min(ats)) - dt.timedelta(days=1)}
        )
        rows = await found.fetchall()
        await self._read_layouts({row[3] for row in rows})
        stretches = {t.id: t.stretch for t in unknown}
        for target_id, at, body, layout_id in rows:
            sample = Sample(at_unix_ns=at, layout=self.layouts[layout_id], values=unfold(body))
            self.last[target_id] = _Last(sample, stretches[target_id])

    async def _read_layouts(self, ids: set[int]) -> None:
        """Those not known yet; they never change."""
        unknown = [one for one in ids if one not in self.layouts]
        if unknown:
            for one, body in await (await self.connection.execute(READ_LAYOUTS, [unknown])).fetchall():
                self.layouts[one] = layout_from_json(body)

    async def _settle(self, told: Sequence[tuple[Outcome, int, str]]) -> set[int]:
        outcomes = [outcome for outcome, _, _ in told]
        found = await self.connection.execute(
            SETTLE,
            {
                "ids": [o.target.id for o in outcomes],
                "leases": [o.target.claimed_until_unix_ns for o in outcomes],
                "dues": [o.due_unix_ns for o in outcomes],
                "ats": [o.at_unix_ns for o in outcomes],
                "oks": [o.reading is not None for o in outcomes],
                "stretches": [stretch for _, stretch, _ in told],
                "kinds": [o.reading.layout.kind if o.reading else "" for o in outcomes],
                "models": [as_array(o.reading.layout.models) if o.reading else "{}" for o in outcomes],
                "reasons": [o.reason or "" for o in outcomes],
                "details": [o.detail.replace("\x00", "")[:400] for o in outcomes],
            },
        )
        return {row[0] for row in await found.fetchall()}

    async def _insert_samples(self, told: Sequence[tuple[Outcome, int, str]]) -> None:
        if not told:
            return
        rows = []
        for outcome, stretch, breaks in told:
            assert outcome.reading is not None
            layout, values = outcome.reading.layout, outcome.reading.values
            rows.append((
                outcome.at_unix_ns, day_of(outcome.at_unix_ns), outcome.target.project_id, outcome.target.id,
                await self.layout_id(layout), stretch, outcome.took_ms, *page_gauges(layout, values), breaks,
                fold(values),
            ))  # fmt: skip
        names = ("at", "day", "project", "target", "layout", "stretch", "took", "running", "waiting", "kv", "breaks",
                 "body")  # fmt: skip
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        await self.connection.execute(INSERT_SAMPLE.format(table="ingest_engine_sample"), columns)

    async def _insert_failures(self, outcomes: Sequence[Outcome]) -> None:
        if not outcomes:
            return
        await self.connection.execute(
            INSERT_FAILURE,
            {
                "at": [o.at_unix_ns for o in outcomes],
                "day": [day_of(o.at_unix_ns) for o in outcomes],
                "project": [o.target.project_id for o in outcomes],
                "target": [o.target.id for o in outcomes],
                "took": [o.took_ms for o in outcomes],
                "reason": [str(o.reason or Reason.ERROR) for o in outcomes],
                "detail": [o.detail.replace("\x00", "")[:400] for o in outcomes],
            },
        )

    async def layout_id(self, layout: Layout) -> int:
        known = self.layout_ids.get(layout.digest)
        if known is None:
            parameters = {"digest": layout.digest, "body": layout.as_json()}
            row = await (await self.connection.execute(KEEP_LAYOUT, parameters)).fetchone()
            assert row is not None
            known = self.layout_ids[layout.digest] = row[0]
            self.layouts[known] = layout
        return known


def break_between(before: Sample, after: Sample, gap_ns: int) -> str:
    """Why a new stretch begins: ``reset``, ``gap``, ``layout``; empty where none does."""
    if is_reset(before, after):
        return "reset"
    if after.at_unix_ns - before.at_unix_ns > gap_ns:
        return "gap"
    return "layout" if before.layout.digest != after.layout.digest else ""


def page_gauges(layout: Layout, values: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Running, waiting and KV use of the whole page: sums over its models and cores, and the fullest cache."""

    def told(metric: str) -> list[float]:
        return [v for slot in layout.slots_of(metric) if (v := values[slot.at]) == v]

    running, waiting, kv_usage = told("running"), told("waiting"), told("kv_usage")
    return sum(running) if running else None, sum(waiting) if waiting else None, max(kv_usage, default=None)


def as_array(words: Sequence[str]) -> str:
    """A PostgreSQL array in its text form, since arrays of arrays must be of one length."""
    quoted = ['"' + w.replace("\x00", "").replace("\\", "\\\\").replace('"', '\\"') + '"' for w in words]
    return "{" + ",".join(quoted) + "}"


def day_of(unix_ns: int) -> dt.date:
    return dt.datetime.fromtimestamp(unix_ns / 1e9, dt.UTC).date()


def _sample(outcome: Outcome, reading: Reading) -> Sample:
    return Sample(at_unix_ns=outcome.at_unix_ns, layout=reading.layout, values=reading.values)

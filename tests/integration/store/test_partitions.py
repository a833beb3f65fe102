"""Partitions are made ahead by day and dropped by age. All of it is rolled back after each test."""

from __future__ import annotations

import datetime as dt

import psycopg
import pytest
from django.db import connection

from ingest.models import DirtyTrace, Trace
from ingest.partitions import PARTITIONED, drop_expired, ensure_partitions, existing_partitions

pytestmark = pytest.mark.django_db

LATE_NS = int(dt.datetime(2099, 5, 1, 23, 59, 59, tzinfo=dt.UTC).timestamp()) * 10**9
DAY_NS = 86_400 * 10**9


def test_it_makes_yesterday_to_the_day_after_tomorrow_once() -> None:
    made = ensure_partitions(LATE_NS)
    days = ("20990430", "20990501", "20990502", "20990503")
    assert made == sorted(f"{table}_{day}" for table in PARTITIONED for day in days)
    assert set(made) <= existing_partitions()
    assert ensure_partitions(LATE_NS) == []
    assert len(ensure_partitions(LATE_NS + DAY_NS)) == len(PARTITIONED)


def test_it_waits_for_no_writer() -> None:
    """Nor do writers wait: each would hold what the other needs, table by table."""
    ours = connection.get_connection_params()
    dsn = {name: ours[name] for name in ("dbname", "user", "password", "host", "port") if ours.get(name)}
    with psycopg.connect(**dsn) as writer, connection.cursor() as cursor:
        for table in PARTITIONED:
            writer.execute(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE")  # as any COPY or DELETE holds it
        cursor.execute("SET LOCAL lock_timeout = '5s'")
        assert ensure_partitions(LATE_NS)
        writer.execute("SET LOCAL lock_timeout = '5s'")
        writer.execute("DELETE FROM ingest_chunk WHERE day = '2000-01-01'")


def test_it_drops_what_is_older_than_it_keeps_and_forgets_its_traces() -> None:
    ensure_partitions(LATE_NS)
    for day in (dt.date(2099, 4, 30), dt.date(2099, 5, 1)):
        key = {"trace_id": day.isoformat().encode().ljust(16), "project_id": 1, "day": day}
        Trace.objects.create(**key)
        DirtyTrace.objects.create(**key, received_unix_ns=0, due_unix_ns=0)
    dropped = drop_expired(LATE_NS + 3 * DAY_NS, keep_days=3)
    assert {f"{table}_20990430" for table in PARTITIONED} <= set(dropped)
    assert not [name for name in dropped if name.endswith("20990501")]
    assert {f"{table}_20990501" for table in PARTITIONED} <= existing_partitions()
    for kept in (Trace, DirtyTrace):
        assert list(kept.objects.values_list("day", flat=True)) == [dt.date(2099, 5, 1)]


def test_nothing_is_dropped_before_its_time() -> None:
    before = existing_partitions()
    ensure_partitions(LATE_NS)
    assert drop_expired(LATE_NS, keep_days=40_000) == []
    assert before <= existing_partitions()

"""What is done again and again for engines: scraping kept going, the targets' file read, old samples thinned out."""

from __future__ import annotations

import datetime as dt
import logging
import re
import time

from django.conf import settings
from django.db import connection, transaction

from ingest.engines import files, otlp
from ingest.engines.scraping import ScrapingThread, Settings
from ingest.engines.targets import policy
from ingest.models import EngineTarget
from ingest.partitions import existing_partitions, today

log = logging.getLogger(__name__)

FULL_DAYS = 2
FILE_EVERY_S = 10.0

# Of a minute the last sample, and where a stretch begins or ends both: differences over a break need them.
THIN = """
    INSERT INTO ingest_engine_minute (at_unix_ns, day, project_id, target_id, layout_id, stretch, took_ms, running,
                                      waiting, kv_usage, breaks, body)
    SELECT at_unix_ns, day, project_id, target_id, layout_id, stretch, took_ms, running, waiting, kv_usage, breaks,
           body
    FROM (
        SELECT *,
               row_number() OVER (PARTITION BY target_id, at_unix_ns / 60000000000 ORDER BY at_unix_ns DESC) AS place,
               row_number() OVER (PARTITION BY target_id, stretch ORDER BY at_unix_ns DESC) AS from_end
        FROM {partition}
    ) AS rows
    WHERE place = 1 OR from_end = 1 OR breaks <> ''
    ON CONFLICT DO NOTHING
"""


def scraper_settings() -> Settings:
    return Settings(
        database_url=settings.SIXSTAGE_DATABASE_URL, policy=policy(), encryption_key=settings.SIXSTAGE_ENCRYPTION_KEY
    )


_thread = ScrapingThread(scraper_settings)
_file_read_s = -FILE_EVERY_S


def keep_scraping() -> None:
    """Read the file if it has changed and what came by OTLP, and see to it that this process scrapes, if there is
    anything to scrape."""
    global _file_read_s
    path = settings.SIXSTAGE_ENGINES_FILE
    if path is not None and time.monotonic() - _file_read_s >= FILE_EVERY_S:
        _file_read_s = time.monotonic()
        files.read_if_changed(path)
    otlp.read_new()
    if EngineTarget.objects.filter(enabled=True).exclude(url="").exists():
        _thread.keep_going()


def thin_out(now_ns: int) -> list[str]:
    """Of days that are over for longer than full resolution is kept, keep samples by minute; returns their tables."""
    cutoff = today(now_ns) - dt.timedelta(days=FULL_DAYS)
    done = []
    for name in sorted(existing_partitions()):
        found = re.fullmatch(r"ingest_engine_sample_(\d{4})(\d\d)(\d\d)", name)
        if found is None or (day := dt.date(int(found[1]), int(found[2]), int(found[3]))) >= cutoff:
            continue
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                f"""CREATE TABLE IF NOT EXISTS ingest_engine_minute_{day:%Y%m%d} PARTITION OF ingest_engine_minute
                    FOR VALUES FROM ('{day}') TO ('{day + dt.timedelta(days=1)}')"""
            )
            cursor.execute(THIN.format(partition=name))
            cursor.execute(f"DROP TABLE {name}")
        done.append(name)
    return done

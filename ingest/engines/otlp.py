"""Metrics that came by OTLP, read from where they were stored into engines' series.

A body is marked as read in the transaction that keeps what it tells: one that a dead worker held is read again, and
none is read twice.
"""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from typing import Any

from django.db import transaction
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from ingest.compression import decompress
from ingest.engines.differences import Sample
from ingest.engines.kept import fold, unfold
from ingest.engines.layout import Layout, layout_from_json
from ingest.engines.names import Type
from ingest.engines.otlp_points import Told, tellings
from ingest.engines.store import INSERT_SAMPLE, KEEP_LAYOUT, break_between, day_of, longest_gap_ns, page_gauges
from ingest.models import EngineTarget
from ingest.models.engine import Origin
from ingest.models.telemetry import Signal
from ingest.stored import direct_cursor

log = logging.getLogger(__name__)

BODIES_A_PASS = 200
MOST_SENDERS = 500  # of a project; a sender that names itself anew each time must not fill the page
INTERVAL_MS = 60_000  # what SDKs and collectors send by, unless they are told otherwise
STRAY_NS = 600 * 10**9  # a point whose time is further off than this is of the time at which it came

UNREAD = """
    SELECT day, project_id, signal, digest, received_unix_ns, body FROM ingest_body
    WHERE signal = %s AND NOT seen ORDER BY received_unix_ns LIMIT %s FOR UPDATE SKIP LOCKED
"""
MARK = """
    UPDATE ingest_body AS body SET seen = true
    FROM unnest(%s::date[], %s::int[], %s::bigint[]) AS done (day, project_id, digest)
    WHERE (body.day, body.project_id, body.digest, body.signal) = (done.day, done.project_id, done.digest, %s)
"""
LAST = """
    SELECT sample.at_unix_ns, sample.body, layout.body FROM ingest_engine_sample AS sample
    JOIN ingest_engine_layout AS layout ON layout.id = sample.layout_id
    WHERE sample.target_id = %s AND sample.at_unix_ns = %s AND sample.day = %s
"""


def read_new() -> int:
    """Read what has come, oldest first; returns how many bodies."""
    with transaction.atomic(), direct_cursor() as cursor:
        cursor.execute(UNREAD, [int(Signal.METRICS), BODIES_A_PASS])
        rows = cursor.fetchall()
        for _, project_id, _, _, received_ns, body in rows:
            try:
                with transaction.atomic():
                    _keep_all(cursor, project_id, received_ns, bytes(body))
            except Exception:  # its sender has its answer, and the body stays
                log.exception("metrics of project %d cannot be read as an engine's", project_id)
        if rows:
            days, projects, digests = ([row[n] for row in rows] for n in (0, 1, 3))
            cursor.execute(MARK, [days, projects, digests, int(Signal.METRICS)])
    return len(rows)


def _keep_all(cursor: Any, project_id: int, received_ns: int, body: bytes) -> None:
    for told in tellings(ExportMetricsServiceRequest.FromString(decompress(body))):
        target = _target(project_id, told)
        if target is not None:
            at_ns = told.unix_ns if abs(told.unix_ns - received_ns) < STRAY_NS else received_ns
            _keep(cursor, target, told, at_ns)


def _target(project_id: int, told: Told) -> EngineTarget | None:
    """Who sends this, known from now on; None for one too many."""
    found = EngineTarget.objects.select_for_update().filter(project_id=project_id, name=told.who).first()
    if found is not None:
        return found if found.origin == Origin.OTLP else None
    if EngineTarget.objects.filter(project_id=project_id, origin=Origin.OTLP).count() >= MOST_SENDERS:
        return None
    made, _ = EngineTarget.objects.get_or_create(
        project_id=project_id, name=told.who,
        defaults={"origin": Origin.OTLP, "labels": dict(told.labels), "interval_ms": INTERVAL_MS},
    )  # fmt: skip
    return EngineTarget.objects.select_for_update().get(pk=made.pk)


def _keep(cursor: Any, target: EngineTarget, told: Told, at_ns: int) -> None:
    if target.sample_unix_ns is not None and at_ns <= target.sample_unix_ns:
        return  # late, or the same once more
    last = _last(cursor, target)
    layout, values = told.reading.layout, told.reading.values
    if told.delta and last is not None:
        values = _counted_up(layout, values, last)
    sample = Sample(at_unix_ns=at_ns, layout=layout, values=values)
    breaks = "first" if last is None else break_between(last, sample, longest_gap_ns(target.interval_ms))
    target.stretch += bool(breaks)
    running, waiting, kv_usage = page_gauges(layout, values)
    cursor.execute(
        INSERT_SAMPLE.format(table="ingest_engine_sample"),
        {
            "at": [at_ns], "day": [day_of(at_ns)], "project": [target.project_id], "target": [target.pk],
            "layout": [_layout_id(cursor, layout)], "stretch": [target.stretch], "took": [0], "running": [running],
            "waiting": [waiting], "kv": [kv_usage], "breaks": [breaks], "body": [fold(values)],
        },
    )  # fmt: skip
    target.seen_kind, target.seen_models = layout.kind, layout.models
    target.sample_unix_ns = target.scraped_unix_ns = at_ns
    target.save(update_fields=["stretch", "seen_kind", "seen_models", "sample_unix_ns", "scraped_unix_ns"])


def _counted_up(layout: Layout, values: Sequence[float], last: Sample) -> array[float]:
    """Deltas on top of what there was; a series that is new begins with its first."""
    made = array("d", values)
    had = {slot.key: slot for slot in last.layout.slots}
    for slot in layout.slots:
        was = had.get(slot.key)
        if was is None or slot.metric.type is Type.GAUGE:
            continue
        same = was.bounds == slot.bounds
        for place in range(slot.width) if same else (slot.width - 2, slot.width - 1):
            before = last.values[was.at + place + (0 if same else was.width - slot.width)]
            made[slot.at + place] += before if before == before else 0.0
    return made


def _last(cursor: Any, target: EngineTarget) -> Sample | None:
    if target.sample_unix_ns is None:
        return None
    cursor.execute(LAST, [target.pk, target.sample_unix_ns, day_of(target.sample_unix_ns)])
    row = cursor.fetchone()
    if row is None:
        return None
    return Sample(at_unix_ns=row[0], layout=layout_from_json(row[2]), values=unfold(row[1]))


def _layout_id(cursor: Any, layout: Layout) -> int:
    cursor.execute(KEEP_LAYOUT, {"digest": layout.digest, "body": layout.as_json()})
    return int(cursor.fetchone()[0])

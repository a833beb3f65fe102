"""Stored chunks of log records back into the GenAI events among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData

from ingest.attributes import attributes_of, value_of
from ingest.chunks import spans_of
from ingest.compression import decompress
from ingest.models.telemetry import Signal
from ingest.semconv.log_events import PREFIX, as_event, with_log_events
from ingest.spans import LogEvent, Span

SPAN_ID_BYTES = 8


def spans_with_events(bodies: Sequence[tuple[int, bytes]], trace_id: str) -> list[Span]:
    """A trace's spans from its chunks, each (signal, body), with the events that came as log records."""
    spans = [span for signal, body in bodies if signal == Signal.TRACES for span in spans_of(body, trace_id)]
    logs = [body for signal, body in bodies if signal == Signal.LOGS]
    return with_log_events(spans, (event for body in logs for event in log_events_of(body))) if logs else spans


def log_events_of(body: bytes, only: bytes | None = None) -> Iterator[LogEvent]:
    """The GenAI events of a stored chunk that name a span, or ``only`` that one, in the order in which they were
    sent."""
    raw = decompress(body)
    if PREFIX.encode() not in raw or (only is not None and only not in raw):
        return  # an application's own logs, which may be many
    for resource_logs in LogsData.FromString(raw).resource_logs:
        for scope_logs in resource_logs.scope_logs:
            for record in scope_logs.log_records:
                named = len(record.span_id) == SPAN_ID_BYTES and only in (None, record.span_id)
                found = _event(record) if named else None
                if found is not None:
                    yield found


def _event(record: LogRecord) -> LogEvent | None:
    event = as_event(
        record.event_name,
        record.time_unix_nano or record.observed_time_unix_nano,
        attributes_of(record.attributes),
        value_of(record.body),
    )
    return None if event is None else LogEvent(span_id=record.span_id.hex(), event=event)

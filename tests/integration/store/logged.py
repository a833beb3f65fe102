"""GenAI events as log records, as the store is given them."""

from __future__ import annotations

from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.otlp.split import TracePart, split_logs


def records(*told: tuple[Span, str, dict[str, Any]]) -> list[TracePart]:
    """One record each: the span it names, the event's name, and the texts in its body."""
    request = ExportLogsServiceRequest()
    placed = request.resource_logs.add().scope_logs.add()
    for number, (span, name, body) in enumerate(told):
        record = placed.log_records.add(
            trace_id=span.trace_id, span_id=span.span_id, event_name=name,
            observed_time_unix_nano=span.start_time_unix_nano + number,
        )  # fmt: skip
        for key, value in body.items():
            record.body.kvlist_value.values.add(key=key).value.string_value = value
    made, rest = split_logs(request)
    assert rest is None
    return made

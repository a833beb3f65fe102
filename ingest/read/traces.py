"""A trace's spans as they were stored."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator
from typing import Any

from ingest.chunks import spans_in, spans_of
from ingest.compression import decompress
from ingest.log_chunks import log_events_of
from ingest.models.telemetry import Signal
from ingest.read.rows import select
from ingest.read.values import SpanRow, TraceDetail
from ingest.scope import Scope
from ingest.semconv.log_events import with_log_events
from ingest.spans import AttributeValue, Span


def trace_detail(scope: Scope, trace_id: str, with_attributes: bool) -> TraceDetail | None:
    """The trace's runs and spans, by start; None where the scope has no such trace."""
    key = trace_key(trace_id)
    if key is None:
        return None
    where, parameters = scope.where()
    if not select(f"SELECT 1 AS known FROM ingest_trace WHERE {where} AND trace_id = %s", [*parameters, key]):
        return None
    runs = select(
        f"SELECT root_span_id FROM ingest_run WHERE {where} AND trace_id = %s ORDER BY start_unix_ns, root_span_id",
        [*parameters, key],
    )
    spans = sorted(_spans(scope, key, with_attributes).values(), key=lambda span: (span.start_unix_ns, span.span_id))
    return TraceDetail(
        trace_id=key.hex(),
        runs=[f"{key.hex()}-{bytes(run['root_span_id']).hex()}" for run in runs],
        spans=[span_row(span, with_attributes) for span in spans],
    )


def span_detail(scope: Scope, trace_id: str, span_id: str) -> SpanRow | None:
    """One span with everything it brought. Of its trace only the chunk that holds it is read."""
    key, only = trace_key(trace_id), _bytes(span_id, 8)
    if key is None or only is None:
        return None
    for body in reversed(list(bodies(scope, key, Signal.TRACES))):  # of a span that came more than once the last wins
        content = decompress(body)
        found = list(spans_in(content, key.hex(), lambda span: bool(span.span_id == only))) if only in content else []
        if found:
            events = [event for body in bodies(scope, key, Signal.LOGS) for event in log_events_of(body, only)]
            return span_row(with_log_events(found[-1:], events)[0], with_attributes=True)
    return None


def spans_about(scope: Scope, trace_id: str, span_ids: Collection[str]) -> list[SpanRow]:
    """Those of a trace's spans and of their children, with what they brought, by start."""
    key, about = trace_key(trace_id), {bytes.fromhex(span_id) for span_id in span_ids}
    if key is None:
        return []
    found = {
        span.span_id: span
        for body in bodies(scope, key, Signal.TRACES)
        for span in spans_in(decompress(body), key.hex(), lambda s: s.span_id in about or s.parent_span_id in about)
    }
    ordered = sorted(found.values(), key=lambda span: (span.start_unix_ns, span.span_id))
    return [span_row(span, with_attributes=True) for span in ordered]


def span_row(span: Span, with_attributes: bool) -> SpanRow:
    service = span.resource.get("service.name")
    row = SpanRow(
        trace_id=span.trace_id, span_id=span.span_id, parent_span_id=span.parent_span_id, name=span.name,
        kind=span.kind, status=span.status, status_message=span.status_message, start_unix_ns=span.start_unix_ns,
        end_unix_ns=span.end_unix_ns, service=str(service) if service is not None else None, scope_name=span.scope_name,
    )  # fmt: skip
    if with_attributes:
        row.attributes = jsonable(span.attributes)
        row.resource = jsonable(span.resource)
        row.events = [
            {"name": e.name, "unix_ns": str(e.unix_ns), "attributes": jsonable(e.attributes)} for e in span.events
        ]
    return row


def jsonable(value: AttributeValue) -> Any:
    """An attribute as JSON can hold it: bytes in base64, and numbers that JSON lacks as their names."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [jsonable(item) for item in value]
    return value


def _spans(scope: Scope, trace_id: bytes, with_events: bool) -> dict[str, Span]:
    """By span id; of spans that came more than once the last wins. Log records are read only to be shown as events."""
    stored = bodies(scope, trace_id, Signal.TRACES)
    spans = {span.span_id: span for body in stored for span in spans_of(body, trace_id.hex())}
    if not with_events:
        return spans
    events = [event for body in bodies(scope, trace_id, Signal.LOGS) for event in log_events_of(body)]
    return {span.span_id: span for span in with_log_events(list(spans.values()), events)} if events else spans


def bodies(scope: Scope, trace_id: bytes, signal: Signal) -> Iterator[bytes]:
    where, parameters = scope.where("chunk")
    trace_where, trace_parameters = scope.where("trace")
    rows = select(
        f"""SELECT chunk.body FROM ingest_chunk AS chunk JOIN ingest_trace AS trace USING (trace_id, project_id, day)
            WHERE {where} AND {trace_where} AND chunk.trace_id = %s AND chunk.signal = %s
            ORDER BY chunk.received_unix_ns, chunk.digest""",
        [*parameters, *trace_parameters, trace_id, int(signal)],
    )
    for row in rows:
        yield bytes(row["body"])


def trace_key(trace_id: str) -> bytes | None:
    return _bytes(trace_id, 16)


def _bytes(text: str, length: int) -> bytes | None:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        return None
    return key if len(key) == length else None

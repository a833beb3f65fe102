"""When a trace's spans ran and below what, and nothing else: a waterfall of 100,000 has no use for attributes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from opentelemetry.proto.common.v1.common_pb2 import KeyValue

from ingest.chunks import ZERO_SPAN, status_of
from ingest.compression import decompress
from ingest.models.telemetry import Signal
from ingest.otlp_raw import TracesData
from ingest.read.rows import select
from ingest.read.traces import bodies, trace_key
from ingest.scope import Scope
from ingest.semconv.templates import MESSAGE, has_holes
from ingest.spans import STATUS_ERROR


class SpanTimes(Struct, frozen=True, gc=False):
    """Times are Unix nanoseconds as they were sent. A name with holes is told as the message that fills them."""

    parent_span_id: str | None
    name: str
    start_unix_ns: int
    end_unix_ns: int
    failed: bool


def span_times(scope: Scope, trace_id: str) -> dict[str, SpanTimes]:
    """By span id; of spans that came more than once the last wins."""
    key = trace_key(trace_id)
    found: dict[str, SpanTimes] = {}
    for body in bodies(scope, key, Signal.TRACES) if key else ():
        for resource_spans in TracesData.FromString(decompress(body)).resource_spans:
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    span_id, parent = span.span_id, span.parent_span_id
                    status, name = span.status, span.name
                    found[span_id.hex()] = SpanTimes(
                        parent.hex() if len(parent) == 8 and parent != span_id and parent != ZERO_SPAN else None,
                        _filled(name, span.attributes) if has_holes(name) else name,
                        span.start_time_unix_nano, span.end_time_unix_nano,
                        bool(status) and status_of(status)[0] == STATUS_ERROR,
                    )  # fmt: skip
    return found


def _filled(name: str, attributes: Iterable[bytes]) -> str:
    key = MESSAGE.encode()
    for told in (KeyValue.FromString(attribute) for attribute in attributes if key in attribute):
        if told.key == MESSAGE and told.value.string_value:
            return told.value.string_value
    return name


def root_span_ids(scope: Scope, trace_id: str) -> list[str]:
    """The roots of all runs of a trace."""
    key = trace_key(trace_id)
    where, parameters = scope.where()
    rows = (
        select(f"SELECT root_span_id FROM ingest_run WHERE {where} AND trace_id = %s", [*parameters, key])
        if key
        else []
    )
    return [bytes(row["root_span_id"]).hex() for row in rows]

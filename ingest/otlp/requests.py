"""Export requests as messages, whatever their encoding, and what of them had to be left out.

One bad span never costs its batch: what cannot be read is counted with its first reason, the rest goes on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest import wire
from ingest.models.telemetry import Signal
from ingest.otlp.errors import BadData

REQUESTS: dict[Signal, Any] = {
    Signal.TRACES: ExportTraceServiceRequest,
    Signal.METRICS: ExportMetricsServiceRequest,
    Signal.LOGS: ExportLogsServiceRequest,
}
PATHS = {Signal.TRACES: "/v1/traces", Signal.METRICS: "/v1/metrics", Signal.LOGS: "/v1/logs"}
ITEMS = {Signal.TRACES: "spans", Signal.METRICS: "metrics", Signal.LOGS: "log records"}
# Reasons by words of their sentences: to count them, and to look them up in docs/operate.md.
CODES = {
    "trace_id ": "bad_trace_id", "traceId must": "bad_trace_id", "span_id ": "bad_span_id", "panId must": "bad_span_id",
    "one of": "undecodable",
}  # fmt: skip


@dataclass(slots=True)
class Refusals:
    """Items left out of a batch, by reason, and remarks about a batch that was kept whole."""

    reasons: Counter[str] = field(default_factory=Counter)
    rebuilt: bool = False  # whether the message had to be taken apart
    remarks: list[str] = field(default_factory=list)

    def refuse(self, reason: str, count: int = 1) -> None:
        self.reasons[reason] += count

    @property
    def count(self) -> int:
        return self.reasons.total()

    def codes(self) -> dict[str, int]:
        """How many were left out by a code that does not change when sentences do."""
        found: Counter[str] = Counter()
        for reason, count in self.reasons.items():
            found[next((code for words, code in CODES.items() if words in reason), "invalid")] += count
        return dict(found)

    def sentence(self) -> str:
        """What was left out and why, in a sentence a client may log; empty when there is nothing to say."""
        said = [f"{count} left out: {reason}" for reason, count in self.reasons.most_common(3)]
        return "; ".join([*said, *self.remarks])


def parse_protobuf(signal: Signal, data: bytes, refusals: Refusals) -> Message:
    """The request in ``data``. A message that upb refuses is taken apart, so that only its bad items are lost.

    Raises BadData where not even the outer structure can be read, or where it plainly is another signal's.
    """
    request = REQUESTS[signal]()
    try:
        request.ParseFromString(data)
    except DecodeError:
        refusals.rebuilt = True
        request = _salvage(signal, data, refusals)
    return request


def _salvage(signal: Signal, data: bytes, refusals: Refusals) -> Message:
    """Rebuild a request from those of its resource → scope → item messages that can be read one by one."""
    whole = REQUESTS[signal]()
    try:
        for number, kind, resource_bytes in wire.fields(data):
            if number != 1 or kind != wire.LENGTH_DELIMITED:
                continue
            kept = b"".join(_readable(signal, resource_bytes, refusals))
            whole.MergeFromString(wire.field(1, kept))
    except (ValueError, DecodeError) as error:
        raise BadData(
            f"the body is no {REQUESTS[signal].DESCRIPTOR.name} in protobuf ({error}); "
            "was it cut on the way, or is its content-type wrong?"
        ) from error
    return whole


def _readable(signal: Signal, resource_bytes: bytes, refusals: Refusals) -> list[bytes]:
    """The fields of a ResourceSpans (or its like) without the items that cannot be decoded."""
    resource_kind = REQUESTS[signal].DESCRIPTOR.fields[0].message_type
    scope_kind = resource_kind.fields_by_number[2].message_type
    item_name = scope_kind.fields_by_number[2].name
    kept = []
    for number, kind, content in wire.fields(resource_bytes):
        if number != 2 or kind != wire.LENGTH_DELIMITED:
            if kind == wire.LENGTH_DELIMITED:
                kept.append(wire.field(number, content))
            continue
        good = []
        for inner, inner_kind, item in wire.fields(content):
            if inner_kind != wire.LENGTH_DELIMITED:
                continue
            probe = scope_kind._concrete_class()
            try:
                probe.MergeFromString(wire.field(inner, item))
            except DecodeError:
                refusals.refuse(f"one of {item_name} is broken: text that is not UTF-8, or nested too deep")
                continue
            good.append(wire.field(inner, item))
        kept.append(wire.field(2, b"".join(good)))
    return kept


def meaningful(signal: Signal, request: Any) -> int:
    """How many items of a request can be what they claim: spans with ids, metrics with data, log records with
    a time or a body."""
    if signal == Signal.TRACES:
        return sum(
            len(span.trace_id) == 16 and len(span.span_id) == 8
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        )
    if signal == Signal.METRICS:
        return sum(
            metric.WhichOneof("data") is not None
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        )
    return sum(
        bool(record.time_unix_nano or record.observed_time_unix_nano) or record.HasField("body")
        for resource in request.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    )


def refuse_other_signal(signal: Signal, data: bytes) -> None:
    """For a body in which nothing is what its path says: raises BadData if another signal's reading makes sense.

    Protobuf does not tell its type, so logs sent to the traces path decode, into spans without ids.
    """
    for other, kind in REQUESTS.items():
        if other == signal:
            continue
        try:
            found = meaningful(other, kind.FromString(data))
        except DecodeError:
            continue
        if found:
            raise BadData(f"the body holds {ITEMS[other]}, not {ITEMS[signal]}: send it to {PATHS[other]}")

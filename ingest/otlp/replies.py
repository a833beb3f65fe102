"""Answers in the request's own encoding: success, partial success, or a google.rpc.Status."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from ingest import wire
from ingest.models.telemetry import Signal
from ingest.observing import exports
from ingest.otlp.errors import IngestError
from ingest.otlp.requests import Refusals

RESPONSES: dict[Signal, tuple[Any, str]] = {
    Signal.TRACES: (ExportTraceServiceResponse, "rejected_spans"),
    Signal.METRICS: (ExportMetricsServiceResponse, "rejected_data_points"),
    Signal.LOGS: (ExportLogsServiceResponse, "rejected_log_records"),
}
MESSAGE_LIMIT = 2000


def success(signal: Signal, refusals: Refusals) -> Any:
    """The export response; ``partial_success`` stays unset when all was taken and nothing is to be said."""
    kind, rejected = RESPONSES[signal]
    response = kind()
    if said := refusals.sentence():
        exports.left_out(refusals.codes(), said)
        setattr(response.partial_success, rejected, refusals.count)
        response.partial_success.error_message = said[:MESSAGE_LIMIT]
    return response


def encode(response: Any, as_json: bool) -> bytes:
    if as_json:
        return json_format.MessageToJson(response, indent=None).encode()
    return bytes(response.SerializeToString())


def encode_error(error: IngestError, as_json: bool) -> bytes:
    """A google.rpc.Status: code (1) and message (2)."""
    code, message = error.grpc_code, str(error)[:MESSAGE_LIMIT]
    if as_json:
        return json.dumps({"code": code, "message": message}).encode()
    return wire.varint(1 << 3) + wire.varint(code) + wire.field(2, message.encode())

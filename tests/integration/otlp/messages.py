"""Export requests in the fewest words, and answers read back."""

from __future__ import annotations

import base64
import json
import secrets
import time
from typing import Any

import httpx
from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest import wire

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}


def span(name: str = "chat", **fields: Any) -> Span:
    """A span of one second that has just ended, in a trace of its own unless told otherwise."""
    now_ns = time.time_ns()
    defaults = {
        "trace_id": secrets.token_bytes(16), "span_id": secrets.token_bytes(8), "name": name, "kind": 3,
        "start_time_unix_nano": now_ns - 10**9, "end_time_unix_nano": now_ns,
    }  # fmt: skip
    attributes = fields.pop("attributes", {})
    made = Span(**defaults | fields)
    for key, value in attributes.items():
        kind = {bool: "bool_value", int: "int_value", float: "double_value", bytes: "bytes_value"}
        added = made.attributes.add(key=key)
        setattr(added.value, kind.get(type(value), "string_value"), value)
    return made


def traces(*spans: Span, service: str = "shop") -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = service
    resource.scope_spans.add().spans.extend(spans)
    return request


def body(*spans: Span) -> bytes:
    return traces(*spans).SerializeToString()


def logs(text: str = "hello", **fields: Any) -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=time.time_ns(), **fields)
    record.body.string_value = text
    return request.SerializeToString()


def json_traces(*spans: dict[str, Any]) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def json_span(**fields: Any) -> dict[str, Any]:
    """A span as an OTLP/JSON exporter writes it, ids in hex."""
    made = json_format.MessageToDict(span())
    for key in ("traceId", "spanId"):
        made[key] = base64.b64decode(made[key]).hex()
    return made | {"kind": 3} | fields


def raw_traces(*spans: bytes) -> bytes:
    """A request around spans that are ready bytes, so that they may be broken."""
    scope = wire.field(2, b"".join(wire.field(2, one) for one in spans))
    return wire.field(1, scope)


def partial(response: httpx.Response) -> tuple[int, str]:
    """(rejected spans, message) of a 200; zero and nothing on full success."""
    assert response.status_code == 200, response.text
    answer = ExportTraceServiceResponse()
    if response.headers["content-type"] == "application/json":
        json_format.Parse(response.content, answer)
    else:
        answer.ParseFromString(response.content)
    return answer.partial_success.rejected_spans, answer.partial_success.error_message


def status_of(response: httpx.Response) -> tuple[int, str]:
    """(code, message) of the google.rpc.Status in an error's body, whichever encoding it has."""
    if response.headers["content-type"] == "application/json":
        told = response.json()
        return told["code"], told["message"]
    found = {number: content for number, _, content in wire.fields(response.content)}
    return found[1][0], found[2].decode()

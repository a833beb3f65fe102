"""OTLP/JSON as the JavaScript SDK sends it; the Python SDK has no exporter for it."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import httpx
from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

IDS = {"traceId", "spanId", "parentSpanId"}


class JsonExporter(SpanExporter):
    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        body = _with_hex_ids(MessageToDict(encode_spans(spans), use_integers_for_enums=True))
        headers = {"content-type": "application/json"}
        answer = httpx.post(self.endpoint, content=json.dumps(body), headers=headers, timeout=10)
        good = answer.status_code == 200 and "partialSuccess" not in answer.json()
        return SpanExportResult.SUCCESS if good else SpanExportResult.FAILURE

    def shutdown(self) -> None:
        """Nothing is held open."""


def _with_hex_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_hex_ids(item) for item in value]
    if isinstance(value, dict):
        return {key: base64.b64decode(item).hex() if key in IDS else _with_hex_ids(item) for key, item in value.items()}
    return value

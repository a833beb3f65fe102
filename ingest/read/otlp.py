"""Stored traces as OTLP/JSON: the spans as they came, as any OTLP receiver takes them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from ingest.compression import decompress
from ingest.models.telemetry import Signal
from ingest.read.traces import bodies
from ingest.scope import Scope

_IDS = ("traceId", "spanId", "parentSpanId")


def otlp_json(scope: Scope, trace_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The ``resourceSpans`` of traces. A trace that was sent in several requests has several; spans that came twice
    come twice, as they would from their sender."""
    for trace_id in trace_ids:
        for body in bodies(scope, bytes.fromhex(trace_id), Signal.TRACES):
            told = MessageToDict(TracesData.FromString(decompress(body)), use_integers_for_enums=True)
            for resource_spans in told.get("resourceSpans", ()):
                _hex_ids(resource_spans)
                yield resource_spans


def _hex_ids(told: Any) -> None:
    """Ids are hex in OTLP/JSON, where proto3 JSON has base64."""
    for scope_spans in told.get("scopeSpans", ()):
        for span in scope_spans.get("spans", ()):
            for item in (span, *span.get("links", ())):
                for name in _IDS:
                    if name in item:
                        item[name] = base64.b64decode(item[name]).hex()

"""Traces as the store is given them."""

from __future__ import annotations

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.otlp.requests import Refusals
from ingest.otlp.split import TracePart, split_traces
from tests.integration.otlp.messages import span, traces

SECOND_NS = 10**9
IDLE_NS = 30 * SECOND_NS


def parts(*spans: Span) -> list[TracePart]:
    refusals = Refusals()
    made = split_traces(traces(*spans), refusals)
    assert not refusals.count
    return made


def call(name: str = "chat m", **fields: object) -> Span:
    """A model call that makes a run of its own."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    return span(name, attributes=attributes, **fields)

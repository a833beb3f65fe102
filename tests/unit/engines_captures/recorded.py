"""What a real vLLM told of itself: its spans, its histograms' sums, and what its clients saw. See tests/data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from ingest.attributes import attributes_of
from ingest.spans import KIND_CLIENT, KIND_INTERNAL, Event, Span
from tests.captures import DATA, read_json

ENGINES = DATA / "engines"
RUNS = tuple(sorted(folder.name for folder in (ENGINES / "spans").iterdir()))
# gen_ai.latency.e2e   spans  79.468820   vllm:e2e_request_latency_seconds_sum  79.468820  count 31.0
CHECKED = re.compile(r"^(gen_ai\.\S+)\s+spans\s+(\S+)\s+\S+_sum\s+(\S+)\s+count\s+(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Histogram:
    """One of the engine's own: the sum over the attribute in its spans, and its ``_sum`` and ``_count``."""

    by_spans: float
    sum: float
    count: int


@cache
def histograms(run: str) -> dict[str, Histogram]:
    """By the span attribute that says the same."""
    text = (ENGINES / f"crosscheck_{run}.txt").read_text()
    return {
        name: Histogram(float(by_spans), float(total), int(float(count)))
        for name, by_spans, total, count in CHECKED.findall(text)
    }


@cache
def spans(run: str) -> tuple[Span, ...]:
    """All that the server exported, in the order of arrival."""
    bodies = sorted((ENGINES / "spans" / run).glob("*.pb"))
    return tuple(span for body in bodies for span in spans_of_request(body.read_bytes()))


def requests(run: str) -> list[Span]:
    return [span for span in spans(run) if span.name == "llm_request"]


@cache
def truths(run: str) -> list[dict[str, Any]]:
    """What the clients saw, one for each request that carried a trace context."""
    return [told for told in read_json(ENGINES / f"truth_{run}.json") if told["trace_id"]]


def with_their_agent(told: dict[str, Any], engine: Iterable[Span]) -> Sequence[Span]:
    """A client's request as the call of an agent, with what the engine sent of that trace."""
    start = round(told["start_unix"] * 1e9)
    end = start + round(told["total_s"] * 1e9)
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": told["session"]}
    call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "tiny", "gen_ai.request.stream": told["stream"]}
    given = {"trace_id": told["trace_id"], "start_unix_ns": start, "end_unix_ns": end}
    root = Span(**given, span_id="a" * 16, parent_span_id=None, name="agent", kind=KIND_INTERNAL, attributes=agent)
    chat = Span(
        **given,
        span_id=told["client_span_id"],
        parent_span_id=root.span_id,
        name="chat",
        kind=KIND_CLIENT,
        attributes=call,
    )
    return [root, chat, *(span for span in engine if span.trace_id == told["trace_id"])]


def spans_of_request(body: bytes) -> Iterator[Span]:
    """The spans of an export request as it was received."""
    for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = attributes_of(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Span(
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_span_id=span.parent_span_id.hex() or None,
                    name=span.name,
                    kind=span.kind,
                    start_unix_ns=span.start_time_unix_nano,
                    end_unix_ns=span.end_time_unix_nano,
                    status=span.status.code,
                    status_message=span.status.message,
                    attributes=attributes_of(span.attributes),
                    events=tuple(
                        Event(name=event.name, unix_ns=event.time_unix_nano, attributes=attributes_of(event.attributes))
                        for event in span.events
                    ),
                    resource=resource,
                    scope_name=of_scope.scope.name,
                )

"""An agent that reports one run through the real OpenTelemetry SDK and one of its exporters."""

import time
from dataclasses import dataclass

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, set_span_in_context

MS = 10**6


@dataclass(frozen=True)
class Sent:
    """What was sent, and what the product must make of it."""

    trace_id: str
    run_id: str
    span_ids: frozenset[str]
    wall_ns: int


def report_run(exporter: SpanExporter, service: str) -> Sent:
    """One run that has just ended: an agent, a call that asks for a tool, the tool, and the answering call."""
    spans = _spans(service)
    assert exporter.export(spans) is SpanExportResult.SUCCESS
    root = spans[-1]
    assert root.context
    trace_id, root_id = f"{root.context.trace_id:032x}", f"{root.context.span_id:016x}"
    return Sent(
        trace_id=trace_id,
        run_id=f"{trace_id}-{root_id}",
        span_ids=frozenset(f"{span.context.span_id:016x}" for span in spans if span.context),
        wall_ns=(root.end_time or 0) - (root.start_time or 0),
    )


def _spans(service: str) -> list[ReadableSpan]:
    kept = InMemorySpanExporter()
    resource = Resource({"service.name": service, "service.version": "1.2.3"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("tests.acceptance")
    start = time.time_ns() - 1000 * MS
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
    root = tracer.start_span("invoke_agent clerk", start_time=start, attributes=agent)
    context = set_span_in_context(root)

    def child(name: str, operation: str, begin_ms: int, end_ms: int, **attributes: str | int | float) -> None:
        span = tracer.start_span(name, context, SpanKind.CLIENT, start_time=start + begin_ms * MS)
        span.set_attribute("gen_ai.operation.name", operation)
        span.set_attributes({key.replace("__", "."): value for key, value in attributes.items()})
        span.end(start + end_ms * MS)

    call = {"gen_ai__request__model": "tiny", "gen_ai__usage__input_tokens": 100, "gen_ai__usage__output_tokens": 20}
    first = {"gen_ai__response__time_to_first_chunk": 0.1}
    child("chat tiny", "chat", 10, 410, **call, **first)
    child("execute_tool search", "execute_tool", 420, 620, gen_ai__tool__name="search")
    child("chat tiny", "chat", 630, 980, **call, **first)
    root.end(start + 1000 * MS)
    return list(kept.get_finished_spans())

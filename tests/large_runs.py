"""Runs of sizes at which other tools give up, as OTLP requests: a long agent's, a deep chain, one parent of many."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import httpx
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

MS = 10**6
SPANS_A_REQUEST = 2_000
Told = str | int | float


class LargeRun:
    """Spans of one trace below one agent, in nanoseconds from the run's start; the run has just ended."""

    def __init__(self, service: str, wall_ns: int, end_unix_ns: int | None = None) -> None:
        self.service, self.wall_ns = service, wall_ns
        self.start = (time.time_ns() if end_unix_ns is None else end_unix_ns) - wall_ns
        self.trace_id = os.urandom(16)
        self.spans: list[Span] = []
        agent: dict[str, Told] = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": service}
        self.root = self.add(f"invoke_agent {service}", 0, wall_ns, None, **agent)

    @property
    def run_id(self) -> str:
        return f"{self.trace_id.hex()}-{self.root.hex()}"

    def add(self, name: str, from_ns: int, to_ns: int, parent: bytes | None, **attributes: Told) -> bytes:
        span_id = os.urandom(8)
        self.spans.append(
            Span(
                trace_id=self.trace_id,
                span_id=span_id,
                parent_span_id=parent or b"",
                name=name,
                kind=Span.SPAN_KIND_CLIENT,
                start_time_unix_nano=self.start + from_ns,
                end_time_unix_nano=self.start + to_ns,
                attributes=[KeyValue(key=key, value=_any(value)) for key, value in attributes.items()],
            )
        )
        return span_id

    def round(self, at_ns: int, length_ns: int, tools: int, *inner: str) -> None:
        """A call of two thirds of the length, with spans of its own, then tools side by side."""
        call_ns = length_ns * 2 // 3
        usage: dict[str, Told] = {
            "gen_ai.usage.input_tokens": 4_000,
            "gen_ai.usage.cache_read.input_tokens": 3_000,
            "gen_ai.usage.output_tokens": 40,
        }
        first: dict[str, Told] = {"gen_ai.response.time_to_first_chunk": call_ns / 3e9}
        model: dict[str, Told] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "tiny-70b"}
        call = self.add("chat tiny-70b", at_ns, at_ns + call_ns, self.root, **model, **usage, **first)
        for name in inner:
            self.add(name, at_ns + 1000, at_ns + call_ns - 1000, call)
        begin_ns, end_ns = at_ns + call_ns + length_ns // 60, at_ns + length_ns - length_ns // 60
        for number in range(tools):
            told: dict[str, Told] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"lookup_{number}"}
            self.add(f"execute_tool lookup_{number}", begin_ns + number * 1000, end_ns, self.root, **told)

    def requests(self) -> Iterator[bytes]:
        resource = [KeyValue(key="service.name", value=_any(self.service))]
        for at in range(0, len(self.spans), SPANS_A_REQUEST):
            request = ExportTraceServiceRequest()
            of = request.resource_spans.add()
            of.resource.attributes.extend(resource)
            of.scope_spans.append(ScopeSpans(spans=self.spans[at : at + SPANS_A_REQUEST]))
            yield request.SerializeToString()

    def send(self, otlp_http: str) -> str:
        """The run's id, once all of its spans are acknowledged."""
        with httpx.Client(timeout=60) as client:
            for body in self.requests():
                headers = {"content-type": "application/x-protobuf"}
                client.post(f"{otlp_http}/v1/traces", content=body, headers=headers).raise_for_status()
        return self.run_id


def _any(value: Told) -> AnyValue:
    if isinstance(value, int):
        return AnyValue(int_value=value)
    return AnyValue(double_value=value) if isinstance(value, float) else AnyValue(string_value=value)


def long_run(spans: int, service: str = "large-agent") -> LargeRun:
    """Rounds of ten spans: a call with four spans inside, and five tools side by side."""
    rounds = (spans - 1) // 10
    run = LargeRun(service, rounds * 120 * MS)
    for number in range(rounds):
        inner = ("POST /v1/chat/completions", "connect", "tokenize", f"attempt of round {number}")
        run.round(number * 120 * MS, 119 * MS, 5, *inner)
    for _ in range(spans - len(run.spans)):
        run.add("log", run.wall_ns - MS, run.wall_ns, run.root)
    return run


def deep_run(depth: int, service: str = "deep-agent") -> LargeRun:
    """A chain: each span is the only child of the one before; the model is called at its end."""
    run = LargeRun(service, depth * 2_000 + 900 * MS)
    parent = run.root
    for number in range(depth - 2):
        parent = run.add(f"step {number}", number * 1000, run.wall_ns - number * 1000, parent)
    told: dict[str, Told] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "tiny-70b"}
    run.add("chat tiny-70b", depth * 1000, depth * 1000 + 800 * MS, parent, **told)
    return run


def wide_run(children: int, service: str = "wide-agent") -> LargeRun:
    """One parent with so many children, the last of them a model call."""
    run = LargeRun(service, children * MS + 900 * MS)
    for number in range(children - 1):
        run.add(f"fetch page {number}", number * MS, (number + 3) * MS, run.root)
    told: dict[str, Told] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "tiny-70b"}
    run.add("chat tiny-70b", children * MS, children * MS + 800 * MS, run.root, **told)
    return run


SHAPES: dict[str, Callable[[int], LargeRun]] = {"long": long_run, "deep": deep_run, "wide": wide_run}

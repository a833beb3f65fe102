"""The engine's own span of a request, as vLLM 0.32 sends it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agents.engine.scheduler import Sequence
from agents.telemetry import Telemetry

SCOPE = "vllm.tracing.otel"  # the names are vLLM's; that it is none is told by the resource


@dataclass(frozen=True)
class Arrival:
    """When a request came, on both clocks, and the trace that it belongs to."""

    unix_ns: int
    monotonic_ns: int
    carrier: Mapping[str, str]

    @classmethod
    def now(cls, headers: Iterable[tuple[bytes, bytes]]) -> Arrival:
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        return cls(time.time_ns(), time.perf_counter_ns(), carrier)


def tell(
    telemetry: Telemetry, arrival: Arrival, sequence: Sequence, request: Mapping[str, Any], response_id: str
) -> None:
    """Send ``llm_request`` for a finished sequence; nothing for a request that was not sampled (flag bit 0).

    time to first token counts from arrival, queue from submission; so TTFT is a little more than queue +
    prefill, as with the real one. As there, values that are zero or unset are left out.
    """
    done_ns = time.perf_counter_ns()
    attributes: dict[str, Any] = {
        "gen_ai.request.id": response_id,
        "gen_ai.request.max_tokens": request.get("max_tokens"),
        "gen_ai.request.temperature": request.get("temperature"),
        "gen_ai.request.top_p": request.get("top_p", 1.0),
        "gen_ai.request.n": 1,
        "gen_ai.usage.prompt_tokens": sequence.prompt_tokens,
        "gen_ai.usage.completion_tokens": sequence.produced,
        "gen_ai.latency.time_to_first_token": _s(sequence.first_token_ns - arrival.monotonic_ns),
        "gen_ai.latency.e2e": _s(done_ns - arrival.monotonic_ns),
        "gen_ai.latency.time_in_queue": _s(sequence.scheduled_ns - sequence.queued_ns),
        "gen_ai.latency.time_in_model_prefill": _s(sequence.first_token_ns - sequence.scheduled_ns),
        "gen_ai.latency.time_in_model_decode": _s(sequence.last_token_ns - sequence.first_token_ns),
        "gen_ai.latency.time_in_model_inference": _s(sequence.last_token_ns - sequence.scheduled_ns),
    }
    span = telemetry.tracer(SCOPE).start_span(
        "llm_request",
        context=TraceContextTextMapPropagator().extract(arrival.carrier),
        kind=SpanKind.SERVER,
        attributes={key: value for key, value in attributes.items() if value},
        start_time=arrival.unix_ns,
    )
    span.end(arrival.unix_ns + done_ns - arrival.monotonic_ns)


def _s(duration_ns: int) -> float:
    return duration_ns / 1e9

"""An engine's own span of a request, as vLLM 0.32 and SGLang 0.5.23 send it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agents.engine.core import Sequence
from agents.telemetry import Telemetry

VLLM_SCOPE = "vllm.tracing.otel"  # the names are vLLM's; that it is none is told by the resource
SGLANG_SCOPE = "sglang.srt.observability.trace"
LATENCY = "gen_ai.latency."


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


@dataclass(frozen=True)
class Served:
    """A finished request, with all that its span tells."""

    model: str
    response_id: str
    request: Mapping[str, Any]
    arrival: Arrival
    sequence: Sequence


TellSpan = Callable[[Telemetry, Served], None]


def tell_vllm(telemetry: Telemetry, served: Served) -> None:
    """``llm_request``; nothing for a request that was not sampled (flag bit 0).

    Time to first token counts from arrival, queue from submission; so TTFT is a little more than queue + prefill.
    As with the real one, values that are zero or unset are left out: it names no model and no cached tokens.
    """
    sequence, request = served.sequence, served.request
    attributes: dict[str, Any] = {
        "gen_ai.request.id": served.response_id,
        "gen_ai.request.max_tokens": sequence.max_tokens,
        "gen_ai.request.temperature": _or_one(request.get("temperature")),
        "gen_ai.request.top_p": _or_one(request.get("top_p")),
        "gen_ai.request.n": sequence.choices,
        "gen_ai.usage.prompt_tokens": sequence.prompt_tokens,
        "gen_ai.usage.completion_tokens": sequence.produced,
        **_latencies(sequence, sequence.scheduled_ns),
        f"{LATENCY}time_in_queue": _s(sequence.queued_ns, sequence.scheduled_ns),
    }
    _send(telemetry, served, VLLM_SCOPE, "llm_request", SpanKind.SERVER, attributes)


def tell_sglang(telemetry: Telemetry, served: Served) -> None:
    """``Req …``. It names model, cached tokens and finish reason, and no queue: its prefill and inference count
    from dispatch, so waiting for a place is part of them."""
    sequence, request = served.sequence, served.request
    finished = {"type": "length" if sequence.reason == "length" else "stop"}
    attributes: dict[str, Any] = {
        "rid": served.response_id,
        "module": "sglang::request",
        "gen_ai.request.id": served.response_id,
        "gen_ai.request.max_tokens": sequence.max_tokens,
        "gen_ai.request.temperature": _or_one(request.get("temperature")),
        "gen_ai.request.top_p": _or_one(request.get("top_p")),
        "gen_ai.request.n": sequence.choices,
        "gen_ai.response.model": served.model,
        "gen_ai.response.finish_reasons": json.dumps([finished]),
        "gen_ai.usage.prompt_tokens": sequence.prompt_tokens,
        "gen_ai.usage.completion_tokens": sequence.produced,
        "gen_ai.usage.cached_tokens": sequence.cached_tokens,
        **_latencies(sequence, sequence.queued_ns),
    }
    name = f" Req {served.response_id[:8]}"  # the space is theirs: a role stands before it in other set-ups
    _send(telemetry, served, SGLANG_SCOPE, name, SpanKind.INTERNAL, attributes)


def _latencies(sequence: Sequence, began_ns: int | None) -> dict[str, float]:
    return {
        f"{LATENCY}time_to_first_token": _s(sequence.arrived_ns, sequence.first_token_ns),
        f"{LATENCY}e2e": _s(sequence.arrived_ns, sequence.last_token_ns),
        f"{LATENCY}time_in_model_prefill": _s(began_ns, sequence.first_token_ns),
        f"{LATENCY}time_in_model_decode": _s(sequence.first_token_ns, sequence.last_token_ns),
        f"{LATENCY}time_in_model_inference": _s(began_ns, sequence.last_token_ns),
    }


def _send(
    telemetry: Telemetry, served: Served, scope: str, name: str, kind: SpanKind, attributes: Mapping[str, Any]
) -> None:
    arrival = served.arrival
    span = telemetry.tracer(scope).start_span(
        name,
        context=TraceContextTextMapPropagator().extract(arrival.carrier),
        kind=kind,
        attributes={key: value for key, value in attributes.items() if value},
        start_time=arrival.unix_ns,
    )
    span.end(arrival.unix_ns + time.perf_counter_ns() - arrival.monotonic_ns)


def _s(from_ns: int | None, to_ns: int | None) -> float:
    assert from_ns is not None, "told before it began"
    assert to_ns is not None, "told before it ended"
    return (to_ns - from_ns) / 1e9


def _or_one(asked: float | None) -> float:
    """A double on the wire, whatever kind of number was asked with."""
    return 1.0 if asked is None else float(asked)

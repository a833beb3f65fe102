"""vLLM and SGLang request spans: durations in seconds by the engine's own clocks.

Names of three generations. TTFT and e2e come from the front end's clock, queue, prefill and decode from
the core's, so their sums differ by some milliseconds.
"""

from __future__ import annotations

from ingest.semconv.facts import ENGINE, EngineTimes, Told
from ingest.semconv.values import first_text, seconds, tell, text, whole
from ingest.spans import KIND_SERVER, Attributes, Span

E2E, TTFT = "gen_ai.latency.e2e", "gen_ai.latency.time_to_first_token"
QUEUE = ("gen_ai.latency.time_in_queue",)
PREFILL = ("gen_ai.latency.time_in_model_prefill",)
DECODE = ("gen_ai.latency.time_in_model_decode",)
ROWS = (
    ("response_id", "gen_ai.request.id", text),
    ("response_id", "gen_ai.response.id", text),
    ("response_model", "gen_ai.response.model", text),
    ("request_model", "gen_ai.request.model", text),
    ("input_tokens", "gen_ai.usage.prompt_tokens", whole),
    ("input_tokens", "gen_ai.usage.input_tokens", whole),
    ("output_tokens", "gen_ai.usage.completion_tokens", whole),
    ("output_tokens", "gen_ai.usage.output_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cached_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cache_read.input_tokens", whole),
    ("finish_reason", "gen_ai.response.finish_reason", text),
    ("finish_reason", "gen_ai.response.finish_reasons", first_text),
)


def facts(span: Span) -> Told | None:
    attributes = span.attributes
    if E2E not in attributes and TTFT not in attributes:
        return None
    e2e, ttft = seconds(attributes.get(E2E)), seconds(attributes.get(TTFT))
    if e2e is None and ttft is None:
        return None
    told = Told(
        engine=EngineTimes(
            e2e_ns=e2e,
            ttft_ns=ttft,
            queue_ns=_first(attributes, QUEUE),
            prefill_ns=_first(attributes, PREFILL),
            decode_ns=_first(attributes, DECODE),
        )
    )
    if "gen_ai.operation.name" not in attributes or span.kind == KIND_SERVER:
        told["kind"] = ENGINE
        tell(told, attributes, ROWS)
    return told


def _first(attributes: Attributes, keys: tuple[str, ...]) -> int | None:
    return next((known for key in keys if (known := seconds(attributes.get(key))) is not None), None)

"""What an engine can tell, under one name whatever its kind and version; and what a page's names mean."""

from __future__ import annotations

from enum import StrEnum

from ingest.frozen import Frozen


class Type(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Unit(StrEnum):
    SECONDS = "seconds"
    TOKENS = "tokens"
    REQUESTS = "requests"
    RATIO = "ratio"
    COUNT = "count"
    BLOCKS = "blocks"


class Metric(Frozen, frozen=True, kw_only=True):
    """``together`` is how several series of one model and engine become one: ``sum`` or ``max``. ``part`` names what
    its series are told apart by, where they are (a finish reason, a draft position)."""

    name: str
    type: Type
    unit: Unit
    what: str
    part: str | None = None
    together: str = "sum"


def _gauge(name: str, unit: Unit, what: str, part: str | None = None, together: str = "sum") -> Metric:
    return Metric(name=name, type=Type.GAUGE, unit=unit, what=what, part=part, together=together)


def _counter(name: str, unit: Unit, what: str, part: str | None = None) -> Metric:
    return Metric(name=name, type=Type.COUNTER, unit=unit, what=what, part=part)


def _histogram(name: str, unit: Unit, what: str) -> Metric:
    return Metric(name=name, type=Type.HISTOGRAM, unit=unit, what=what)


_ALL = (
    _gauge("running", Unit.REQUESTS, "requests in the batch"),
    _gauge("waiting", Unit.REQUESTS, "requests in the queue"),
    _gauge("waiting_by_reason", Unit.REQUESTS, "requests in the queue, by what they wait for", "reason"),
    _gauge("preempted", Unit.REQUESTS, "requests put back into the queue, now"),
    _gauge("kv_usage", Unit.RATIO, "share of the KV cache's blocks that unfinished requests hold", together="max"),
    _gauge("hit_rate_told", Unit.RATIO, "prefix-cache hit rate as the engine itself tells it", together="max"),
    _gauge("accept_length_told", Unit.COUNT, "tokens a draft step, as the engine itself tells it", together="max"),
    _gauge("accept_rate_told", Unit.RATIO, "share of draft tokens accepted, as the engine tells it", together="max"),
    _gauge("block_size", Unit.TOKENS, "tokens a block of the KV cache", together="max"),
    _gauge("kv_blocks", Unit.BLOCKS, "blocks of the KV cache"),
    _gauge("kv_tokens", Unit.TOKENS, "tokens that the KV cache holds"),
    _gauge("asleep", Unit.COUNT, "1 while the engine's weights are put away", together="max"),
    _gauge("process_start", Unit.SECONDS, "when the server's process began, in Unix seconds", together="max"),
    _counter("preemptions", Unit.COUNT, "times that a running request was put back"),
    _counter("prefix_queries", Unit.TOKENS, "prompt tokens looked up in the prefix cache"),
    _counter("prefix_hits", Unit.TOKENS, "of which found"),
    _counter("prefix_misses", Unit.BLOCKS, "blocks looked up in vain"),
    _counter("external_queries", Unit.TOKENS, "prompt tokens looked up in an external cache"),
    _counter("external_hits", Unit.TOKENS, "of which found"),
    _counter("prompt_tokens", Unit.TOKENS, "prompt tokens, cached ones included"),
    _counter("prompt_tokens_by_source", Unit.TOKENS, "prompt tokens by where their KV came from", "source"),
    _counter("generation_tokens", Unit.TOKENS, "tokens generated"),
    _counter("finished", Unit.REQUESTS, "requests finished, by reason", "reason"),
    _counter("failed", Unit.REQUESTS, "requests failed"),
    _counter("rejected", Unit.REQUESTS, "requests turned away before the queue", "reason"),
    _counter("spec_drafts", Unit.COUNT, "draft steps of speculative decoding"),
    _counter("spec_draft_tokens", Unit.TOKENS, "tokens drafted"),
    _counter("spec_accepted", Unit.TOKENS, "of which accepted"),
    _counter("spec_accepted_at", Unit.TOKENS, "accepted, by position in the draft", "position"),
    _counter("decode_seconds", Unit.SECONDS, "time spent on generating"),
    _counter("prefill_seconds", Unit.SECONDS, "time spent on prompts"),
    _counter("http_requests", Unit.REQUESTS, "HTTP answers by status", "status"),
    _histogram("ttft", Unit.SECONDS, "time to first token, queue included"),
    _histogram("itl", Unit.SECONDS, "time between tokens, a sample an engine step"),
    _histogram("tpot", Unit.SECONDS, "mean time per output token, a sample a request"),
    _histogram("e2e", Unit.SECONDS, "request, arrival to finish"),
    _histogram("queue", Unit.SECONDS, "queued to scheduled"),
    _histogram("prefill", Unit.SECONDS, "scheduled to first token"),
    _histogram("decode", Unit.SECONDS, "first to last token"),
    _histogram("inference", Unit.SECONDS, "scheduled to last token"),
    _histogram("prompt_length", Unit.TOKENS, "prompt tokens a request"),
    _histogram("generation_length", Unit.TOKENS, "output tokens a request"),
    _histogram("computed_length", Unit.TOKENS, "prompt tokens computed, not cached, a request"),
    _histogram("step_tokens", Unit.TOKENS, "tokens an engine step"),
    _histogram("request_preemptions", Unit.COUNT, "preemptions a request"),
    _histogram("block_lifetime", Unit.SECONDS, "life of a block of the KV cache"),
    _histogram("block_idle", Unit.SECONDS, "how long a block lay idle before it was evicted"),
    _histogram("block_reuse_gap", Unit.SECONDS, "time between uses of a block"),
    # GenAI conventions: what clients saw of their providers, and servers of themselves, by OTLP.
    _histogram("client_duration", Unit.SECONDS, "model call as clients saw it"),
    _histogram("client_first_chunk", Unit.SECONDS, "time to the first chunk as clients saw it; a chunk is no token"),
    _histogram("client_chunk_gap", Unit.SECONDS, "time between chunks as clients saw it; a chunk is no token"),
    _histogram("client_input_tokens", Unit.TOKENS, "input tokens a call, as clients count"),
    _histogram("client_output_tokens", Unit.TOKENS, "output tokens a call, as clients count"),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ALL}

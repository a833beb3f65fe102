"""SGLang 0.5.23's `/metrics` page (``--enable-metrics``), from the scheduler's events.

Names, labels and buckets are read from the published package; it was not run. Of its 163 families these are the ones
that a server without disaggregation, LoRA, storage tiers and grammars fills. Tokens are counted at a request's end;
``cache_hit_rate`` is that of the last batch of prefills, ``gen_throughput`` of the last 40 decode steps; the page has
no ``_created`` series, as in Prometheus' multi-process mode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import Metric

from agents.engine.core import Event, Scheduler
from agents.engine.telling.requests import Timeline, Timelines

LOG_EVERY_STEPS = 40
"""``decode_log_interval``'s default."""
_GAUGES = {
    "num_running_reqs": "The number of running requests.",
    "num_queue_reqs": "The number of requests in the waiting queue.",
    "gen_throughput": "The generation throughput (token/s).",
    "cache_hit_rate": "The prefix cache hit rate.",
    "token_usage": "The token usage.",
    "num_used_tokens": "The number of used tokens.",
    "kv_available_tokens": "Number of free token slots in the KV cache pool.",
    "kv_evictable_tokens": "Number of evictable (radix-cached) token slots in the KV cache pool.",
    "kv_used_tokens": "Number of actively used token slots in the KV cache pool.",
    "num_retracted_reqs": "The number of retracted requests.",
    "spec_accept_length": "Mean acceptance length of speculative decoding.",
    "spec_accept_rate": "Speculative acceptance rate (`accepted drafts / proposed drafts` in batch).",
    "max_total_num_tokens": "Maximum total number of tokens in the KV cache pool.",
    "page_size": "KV cache page size in tokens.",
    "num_pages": "Number of KV cache pages.",
    "context_len": "Maximum context length.",
}
_STREAMING = ["is_streaming"]
_COUNTERS: dict[str, tuple[str, list[str]]] = {
    "prompt_tokens": ("Number of prefill tokens processed.", _STREAMING),
    "generation_tokens": ("Number of generation tokens processed.", _STREAMING),
    "cached_tokens": ("Number of cached prompt tokens by source (device/host/storage).", ["cache_source"]),
    "spec_verify_calls": ("Number of speculative decoding verification calls.", []),
    "num_requests": ("Number of requests processed.", _STREAMING),
    "num_aborted_requests": ("Number of requests aborted.", []),
}
_TTFT = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
_E2E = (*_TTFT, 600, 1200, 1800, 2400)
_PER_TOKEN = (
    *(0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1),
    *(0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8),
)
_QUEUE = (
    *(0, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 10, 15, 20),
    *range(30, 100, 10),
    *range(100, 1000, 100),
    *(1000, 1200, 1400, 1600, 1800, 2000, 2500, 3000),
)
_HISTOGRAMS: dict[str, tuple[str, list[str], tuple[float, ...]]] = {
    "time_to_first_token_seconds": ("Histogram of time to first token in seconds.", _STREAMING, _TTFT),
    "inter_token_latency_seconds": ("Histogram of inter-token latency in seconds.", [], _PER_TOKEN),
    "request_time_per_output_token_seconds": ("Per-request TPOT in seconds.", _STREAMING, _PER_TOKEN),
    "e2e_request_latency_seconds": ("Histogram of End-to-end request latency in seconds", _STREAMING, _E2E),
}


class _NoCreated:
    """A registry without the ``_created`` series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterator[Metric]:
        for family in self._registry.collect():
            family.samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
            yield family


class SglangPage:
    content_type = "text/plain; version=1.0.0; charset=utf-8"

    def __init__(self, model: str, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.registry = CollectorRegistry()
        front = {"model_name": model, "engine_type": "unified"}
        core = front | {"tp_rank": "0", "pp_rank": "0", "moe_ep_rank": "0"}
        self._front, self._core = front, core

        def named(kind: Any, name: str, told: str, labels: list[str], **given: Any) -> Any:
            return kind(f"sglang:{name}", told, labels, registry=self.registry, **given)

        self._gauges = {name: named(Gauge, name, told, [*core]).labels(**core) for name, told in _GAUGES.items()}
        self._counters = {name: named(Counter, name, told, [*front, *more]) for name, (told, more) in _COUNTERS.items()}
        self._histograms = {
            name: named(Histogram, name, told, [*front, *more], buckets=buckets)
            for name, (told, more, buckets) in _HISTOGRAMS.items()
        }
        self._queue = named(
            Histogram, "queue_time_seconds", "Histogram of queueing time in seconds.", [*core], buckets=_QUEUE
        ).labels(**core)
        memory = scheduler.memory
        self._gauges["max_total_num_tokens"].set(memory.capacity_tokens)
        self._gauges["page_size"].set(memory.block_tokens)
        self._gauges["num_pages"].set(memory.capacity_tokens // memory.block_tokens)
        self._gauges["context_len"].set(scheduler.costs.max_model_len)
        self._lines = Timelines()
        self._batch = _Batch()
        scheduler.listeners.append(self._hear)

    def text(self) -> bytes:
        scheduler, memory = self._scheduler, self._scheduler.memory
        used = memory.held_tokens
        for name, value in (
            ("num_running_reqs", len(scheduler.running)),
            ("num_queue_reqs", len(scheduler.waiting)),
            ("num_used_tokens", used),
            ("kv_used_tokens", used),
            ("kv_evictable_tokens", memory.kept_tokens),
            ("kv_available_tokens", memory.capacity_tokens - used - memory.kept_tokens),
            ("token_usage", used / memory.capacity_tokens),
        ):
            self._gauges[name].set(value)
        if scheduler.idle:
            self._gauges["gen_throughput"].set(0)
        return generate_latest(_NoCreated(self.registry))

    def parsed(self, streamed: bool, tool_call: bool) -> None:
        """SGLang counts no tool parsing."""

    def http(self, handler: str, method: str, status: int, request_bytes: int, lasted_s: float) -> None:
        """Nor requests by handler, unless asked to."""

    def _hear(self, event: Event) -> None:
        known = self._lines.after(event)
        if known is None:
            self._batch.end(event, self._gauges)
            return
        line, gap_s = known
        streaming = {"is_streaming": "true" if line.streamed else "false"}
        match event.kind:
            case "scheduled":
                self._batch.hits += event.cached_tokens
                self._batch.asked += event.prompt_tokens
                if event.first:
                    self._queue.observe(line.queue_s)
            case "preempted":
                self._batch.retracted += 1
            case "made" if event.first:
                self._histograms["time_to_first_token_seconds"].labels(**self._front, **streaming).observe(line.ttft_s)
            case "made":
                self._batch.drafts += bool(event.drafted)
                self._batch.drafted += event.drafted
                self._batch.accepted += event.accepted
                gaps = self._histograms["inter_token_latency_seconds"].labels(**self._front)
                for _ in range(event.tokens):  # here one for each token, where vLLM has one a step
                    gaps.observe(gap_s / event.tokens)
            case "aborted":
                self._counters["num_aborted_requests"].labels(**self._front).inc()
            case "finished":
                self._finished(event, line, streaming)

    def _finished(self, event: Event, line: Timeline, streaming: dict[str, str]) -> None:
        front = self._front
        for name, amount in (
            ("prompt_tokens", event.prompt_tokens),
            ("generation_tokens", event.tokens),
            ("num_requests", 1),
        ):
            self._counters[name].labels(**front, **streaming).inc(amount)
        if event.cached_tokens:
            self._counters["cached_tokens"].labels(**front, cache_source="device").inc(event.cached_tokens)
        if line.verifications:
            self._counters["spec_verify_calls"].labels(**front).inc(line.verifications)
        self._histograms["e2e_request_latency_seconds"].labels(**front, **streaming).observe(line.e2e_s)
        if event.tokens > 1:
            per_token = self._histograms["request_time_per_output_token_seconds"]
            per_token.labels(**front, **streaming).observe(line.decode_s / (event.tokens - 1))


class _Batch:
    """What SGLang counts between two of its own log lines."""

    def __init__(self) -> None:
        self.hits = self.asked = self.retracted = 0
        self.drafts = self.drafted = self.accepted = 0
        self._steps = self._tokens = self._lasted_ns = 0

    def end(self, step: Event, gauges: dict[str, Any]) -> None:
        if self.asked:
            gauges["cache_hit_rate"].set(self.hits / self.asked)
        gauges["num_retracted_reqs"].set(self.retracted)
        self.hits = self.asked = self.retracted = 0
        self._steps += 1
        self._tokens += step.tokens
        self._lasted_ns += step.lasted_ns
        if self._steps < LOG_EVERY_STEPS:
            return
        if self._lasted_ns:
            gauges["gen_throughput"].set(self._tokens / (self._lasted_ns / 1e9))
        if self.drafts:
            gauges["spec_accept_length"].set(1 + self.accepted / self.drafts)
            gauges["spec_accept_rate"].set(self.accepted / self.drafted)
        self.drafts = self.drafted = self.accepted = self._steps = self._tokens = self._lasted_ns = 0

"""vLLM 0.32's `/metrics` page, from the scheduler's events.

When things are counted is vLLM's too: prompt tokens and time to first token at the first token, queue, prefill and
decode at the end, cache look-ups at the first admission. So an aborted request shows in the first and not in the
second, and ``finished_reason="abort"`` stays 0.
"""

from __future__ import annotations

from typing import Any

from prometheus_client import (
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    PROCESS_COLLECTOR,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from agents.engine.core import Event, Scheduler
from agents.engine.telling import vllm_families as families
from agents.engine.telling.http_families import HttpFamilies
from agents.engine.telling.requests import Timeline, Timelines


class VllmPage:
    content_type = "text/plain; version=1.0.0; charset=utf-8"

    def __init__(self, model: str, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.registry = CollectorRegistry()
        for collector in (GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR):
            self.registry.register(collector)
        self._model = model
        self._labels = {"engine": "0", "model_name": model}
        self._counters = self._made(Counter, families.COUNTERS)
        self._gauges = self._made(Gauge, families.GAUGES)
        self._histograms = self._made(Histogram, families.histograms(scheduler.costs.max_model_len))
        if scheduler.speculation:
            self._counters |= self._made(Counter, families.SPECULATION)
        self._tool_parser = Counter(
            *families.TOOL_PARSER, ["mode", "outcome", "request_type", "model_name"], registry=self.registry
        )
        self._http = HttpFamilies(self.registry)
        self.http = self._http.seen
        self._lines = Timelines()
        self._choices: dict[str, list[int]] = {}
        """Tokens of those choices that have ended, by request, while others go on."""
        self._step_tokens = 0
        self._label_all()
        scheduler.listeners.append(self._hear)

    def text(self) -> bytes:
        running, waiting = len(self._scheduler.running), len(self._scheduler.waiting)
        memory = self._scheduler.memory
        self._gauge("num_requests_running").set(running)
        self._gauge("num_requests_waiting").set(waiting)
        self._gauge("num_requests_waiting_by_reason", reason="capacity").set(waiting)
        self._gauge("kv_cache_usage_perc").set(memory.held_tokens / memory.capacity_tokens)
        return generate_latest(self.registry)

    def parsed(self, streamed: bool, tool_call: bool) -> None:
        """A tool parser looked at a delta of a stream, or at a whole answer."""
        self._tool_parser.labels(
            "streaming" if streamed else "non_streaming",
            "tool_call" if tool_call else "no_tool_call",
            "chat_completions",
            self._model,
        ).inc()

    def _hear(self, event: Event) -> None:
        known = self._lines.after(event)
        if known is None:
            if self._step_tokens:
                self._observe("iteration_tokens_total", self._step_tokens)
            self._step_tokens = 0
            return
        line, gap_s = known
        match event.kind:
            case "scheduled" if event.first:
                self._count("prefix_cache_queries", event.prompt_tokens)
                self._count("prefix_cache_hits", event.cached_tokens)
                self._count("prompt_tokens_cached_by_source", event.cached_tokens, source="device")
            case "preempted":
                self._count("num_preemptions", 1)
            case "made":
                self._made_tokens(event, line, gap_s)
            case "finished":
                self._finished(event, line)
            case "aborted":
                self._choices.pop(line.of, None)

    def _made_tokens(self, event: Event, line: Timeline, gap_s: float) -> None:
        self._step_tokens += event.tokens
        self._count("generation_tokens", event.tokens)
        if event.drafted:
            self._count("spec_decode_num_drafts", 1)
            self._count("spec_decode_num_draft_tokens", event.drafted)
            self._count("spec_decode_num_accepted_tokens", event.accepted)
            for position in range(event.accepted):
                self._count("spec_decode_num_accepted_tokens_per_pos", 1, position=str(position))
        if not event.first:
            self._observe("inter_token_latency_seconds", gap_s)
            return
        self._step_tokens += event.computed_tokens
        self._observe("time_to_first_token_seconds", line.ttft_s)
        self._count("prompt_tokens", event.prompt_tokens)
        self._count("prompt_tokens_cached", event.cached_tokens)
        self._count("prompt_tokens_by_source", event.computed_tokens, source="local_compute")
        self._count("prompt_tokens_by_source", event.cached_tokens, source="local_cache_hit")

    def _finished(self, event: Event, line: Timeline) -> None:
        reason = "length" if event.reason == "length" else "stop"  # asking for a tool is a stop to the engine
        self._count("request_success", 1, finished_reason=reason)
        per_token_s = line.decode_s / (event.tokens - 1) if event.tokens > 1 else 0.0
        for name, value in (
            ("request_prompt_tokens", event.prompt_tokens),
            ("request_generation_tokens", event.tokens),
            ("request_params_max_tokens", line.max_tokens),
            ("request_time_per_output_token_seconds", per_token_s),
            ("e2e_request_latency_seconds", line.e2e_s),
            ("request_queue_time_seconds", line.queue_s),
            ("request_inference_time_seconds", line.inference_s),
            ("request_prefill_time_seconds", line.prefill_s),
            ("request_decode_time_seconds", line.decode_s),
            ("request_num_preemptions", line.preemptions),
            ("request_prefill_kv_computed_tokens", event.prompt_tokens - event.cached_tokens),
        ):
            self._observe(name, value)
        self._answered(event, line)

    def _answered(self, event: Event, line: Timeline) -> None:
        """Once for a request, when the last of its choices ends; never, if one was aborted."""
        lengths = [event.tokens]
        if line.choices > 1:
            lengths = self._choices.setdefault(line.of, [])
            lengths.append(event.tokens)
            if len(lengths) < line.choices:
                return
            del self._choices[line.of]
        self._observe("request_max_num_generation_tokens", max(lengths))
        self._observe("request_params_n", line.choices)

    def _made(self, kind: Any, rows: tuple[families.Row, ...]) -> dict[str, Any]:
        made = {}
        for row in rows:
            labels = [*([] if row.no_engine else ["engine"]), "model_name", *row.labels]
            given = {"buckets": row.buckets} if row.buckets else {}
            made[row.name] = kind(f"vllm:{row.name}", row.help, labels, registry=self.registry, **given)
        return made

    def _label_all(self) -> None:
        """A series for each known label value from the start on: 0 is a fact, absence is none."""
        for row in (*families.COUNTERS, *families.GAUGES):
            metric = (self._counters | self._gauges)[row.name]
            ours = {"model_name": self._model} if row.no_engine else self._labels
            for value in row.values or ("",):
                metric.labels(**ours, **({row.labels[0]: value} if row.labels else {}))
        for metric in self._histograms.values():
            metric.labels(**self._labels)
        for mode in ("streaming", "non_streaming"):
            for outcome in ("tool_call", "no_tool_call"):
                for kind in ("chat_completions", "responses", "other"):
                    self._tool_parser.labels(mode, outcome, kind, self._model)
        self._gauge("engine_sleep_state", sleep_state="awake").set(1)
        config = families.cache_config(self._scheduler.memory, self._scheduler.costs.max_model_len)
        info = Gauge(
            "vllm:cache_config_info",
            "Information of the LLMEngine CacheConfig",
            ["engine", *config],
            registry=self.registry,
        )
        info.labels(engine="0", **config).set(1)

    def _count(self, name: str, amount: int, **labels: str) -> None:
        self._counters[name].labels(**self._labels, **labels).inc(amount)

    def _gauge(self, name: str, **labels: str) -> Any:
        return self._gauges[name].labels(**self._labels, **labels)

    def _observe(self, name: str, value: float) -> None:
        self._histograms[name].labels(**self._labels).observe(value)

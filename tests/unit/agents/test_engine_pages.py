"""The engine's `/metrics`: vLLM's families by name and type, and the identities that held on real servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from agents.clock import Clock
from agents.engine import SGLANG, VLLM, CostModel, EventLog, Playbook, Reply, SimulatedEngine, call, serve
from agents.engine.core import PagedMemory
from agents.engine.core.speculation import EAGLE_3
from agents.engine.telling.style import Style
from agents.telemetry import Telemetry
from tests.unit.agents.conftest import TLS
from tests.unit.agents.otlp_collector import Collector
from tests.unit.engines_captures.recorded import requests

REAL = Path(__file__).parents[2] / "data" / "engines" / "snapshots"
MODEL = "sim-70b"
BY_FLAG = {
    "vllm:kv_block_lifetime_seconds",
    "vllm:kv_block_idle_before_evict_seconds",
    "vllm:kv_block_reuse_gap_seconds",
}


class Page:
    def __init__(self, text: str) -> None:
        self.types = {}
        self.labels: dict[str, set[str]] = {}
        self.values: dict[str, float] = {}
        for family in text_string_to_metric_families(text):
            self.types[family.name] = family.type
            for sample in family.samples:
                self.labels.setdefault(sample.name, set()).update(sample.labels)
                self.values[sample.name] = self.values.get(sample.name, 0.0) + sample.value

    def __getitem__(self, name: str) -> float:
        return self.values[name]


async def served(
    style: Style, collector: Collector, questions: Iterable[str], *, leave: bool = False, n: int = 1, **given: object
) -> tuple[str, EventLog, list[dict]]:
    """What the page says after these questions were asked at once, twice; the truth; and the answers."""
    log, playbook = EventLog(), Playbook(seed=3)
    answers: list[dict] = []
    questions = list(questions)
    for question in questions:
        playbook.plan(question, Reply(text=question * 3, calls=[call("look_up", number=len(question))]))
    playbook.plan("long", Reply("word " * 4000))
    with Telemetry("engine", endpoint=collector.url, simulated=True) as own:
        engine = SimulatedEngine(
            MODEL,
            playbook,
            style=style,
            telemetry=own,
            clock=Clock(60),
            log=log,
            **given,  # type: ignore[arg-type]
        )
        async with serve(engine) as url, httpx.AsyncClient(trust_env=False, verify=TLS, timeout=60) as http:

            async def ask(question: str) -> None:
                body = {"model": MODEL, "messages": [{"role": "user", "content": question}], "n": n}
                response = await http.post(f"{url}/chat/completions", json=body)
                answers.append(response.json())

            async def give_up() -> None:
                body = {"model": MODEL, "messages": [{"role": "user", "content": "long"}], "stream": True}
                async with http.stream("POST", f"{url}/chat/completions", json=body) as response:
                    async for line in response.aiter_lines():
                        if "word" in line:
                            return

            for _ in range(2):
                await asyncio.gather(*(ask(question) for question in questions))
            if leave:
                await give_up()
                while not engine.scheduler.idle:
                    await asyncio.sleep(0.001)
            page = await http.get(url.replace("/v1", "/metrics"))
            assert page.headers["content-type"] == "text/plain; version=1.0.0; charset=utf-8"
    return page.text, log, answers


QUESTIONS = [f"{'a shared start ' * 40} and question {at}" for at in range(12)]


async def test_its_families_are_vllms_by_name_type_and_label(collector: Collector) -> None:
    text, _, _ = await served(VLLM, collector, QUESTIONS[:1], speculation=EAGLE_3)
    ours, real = Page(text), Page((REAL / "run3_tiny_ngram-s4-final.prom").read_text())

    assert {name: ours.types.get(name) for name in real.types} == real.types
    assert {name for name in ours.types if name.startswith("vllm:")} <= set(real.types)
    for name, labels in real.labels.items():
        assert ours.labels.get(name) == labels, name
    buckets = [line.split(" ")[0].replace("tiny-llama", MODEL) for line in real_lines() if "_bucket{" in line]
    have = {line.split(" ")[0] for line in text.splitlines() if "_bucket{" in line}
    assert [each for each in buckets if each not in have and "le=" in each and "_tokens_bucket" not in each] == []


async def test_its_spans_are_vllms_but_for_the_label(collector: Collector) -> None:
    with Telemetry("vllm", endpoint=collector.url, simulated=True, resource=VLLM.resource) as own:
        engine = SimulatedEngine(MODEL, Playbook(seed=3), telemetry=own, clock=Clock(60))
        async with serve(engine) as url, httpx.AsyncClient(trust_env=False, verify=TLS, timeout=60) as http:
            for temperature in (0, 1):  # a zero is left out, there as here
                body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello?"}], "temperature": temperature}
                await http.post(f"{url}/chat/completions", json=body | {"max_tokens": 4})

    ours, real = collector.of("llm_request"), requests("run1_tiny_http")
    assert {shape(span.attributes) for span in ours} == {shape(span.attributes) for span in real}
    assert {(span.name, span.scope, span.kind, span.failed) for span in ours} == {
        (span.name, span.scope_name, span.kind, False) for span in real
    }
    assert not any(span.status or span.events for span in ours)
    assert not any(span.status or span.events for span in real)
    label = {"sixstage.simulated"}
    assert set(ours[0].resource) - label == set(real[0].resource)
    assert shape(ours[0].resource) - {("sixstage.simulated", bool)} == shape(real[0].resource)


def shape(attributes: Mapping[str, object]) -> frozenset[tuple[str, type]]:
    return frozenset((name, type(value)) for name, value in attributes.items())


def real_lines() -> list[str]:
    return (REAL / "run3_tiny_ngram-s4-final.prom").read_text().splitlines()


async def test_the_identities_of_real_servers_hold(collector: Collector) -> None:
    small = CostModel(max_sequences=4)
    text, log, answers = await served(
        VLLM, collector, QUESTIONS, leave=True, costs=small, memory=PagedMemory(9000), speculation=EAGLE_3
    )
    page = Page(text)
    spans = collector.of("llm_request")

    assert len(spans) == 24  # the one that left has none
    for name, key in (
        ("e2e_request_latency_seconds", "gen_ai.latency.e2e"),
        ("request_queue_time_seconds", "gen_ai.latency.time_in_queue"),
        ("request_prefill_time_seconds", "gen_ai.latency.time_in_model_prefill"),
        ("request_decode_time_seconds", "gen_ai.latency.time_in_model_decode"),
        ("request_inference_time_seconds", "gen_ai.latency.time_in_model_inference"),
        ("request_prompt_tokens", "gen_ai.usage.prompt_tokens"),
        ("request_generation_tokens", "gen_ai.usage.completion_tokens"),
    ):
        assert page[f"vllm:{name}_sum"] == pytest.approx(sum(span.attributes[key] for span in spans)), name
        assert page[f"vllm:{name}_count"] == len(spans)
    assert page["vllm:time_to_first_token_seconds_count"] == len(spans) + 1
    assert page["vllm:time_to_first_token_seconds_sum"] > sum(
        span.attributes["gen_ai.latency.time_to_first_token"] for span in spans
    )
    prompts = page["vllm:prompt_tokens_total"]
    assert prompts == page["vllm:prefix_cache_queries_total"] == page["vllm:prompt_tokens_by_source_total"]
    hits = page["vllm:prefix_cache_hits_total"]
    assert hits == page["vllm:prompt_tokens_cached_total"] == page["vllm:prompt_tokens_cached_by_source_total"] > 0
    gone = next(event.request for event in log.events if event.kind == "aborted")
    theirs = sum(event.cached_tokens for event in log.of(gone) if event.kind == "scheduled")
    assert hits == theirs + sum(answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in answers)
    made = [event for event in log.events if event.kind == "made"]
    computed = sum(event.computed_tokens for event in made)
    assert page["vllm:generation_tokens_total"] == sum(event.tokens for event in made)
    assert page["vllm:iteration_tokens_total_sum"] == page["vllm:generation_tokens_total"] + computed
    assert page["vllm:inter_token_latency_seconds_count"] == len(made) - 25  # one a step, not one a token
    assert page["vllm:request_success_total"] == 24
    assert 'finished_reason="abort",model_name="sim-70b"} 0.0' in text
    assert page["vllm:spec_decode_num_accepted_tokens_total"] == sum(event.accepted for event in made)
    assert page["vllm:spec_decode_num_accepted_tokens_per_pos_total"] == sum(event.accepted for event in made)
    assert page["vllm:kv_cache_usage_perc"] == page["vllm:num_requests_running"] == 0
    assert page["http_requests_total"] == 25


async def test_with_several_answers_the_prompt_counts_with_each_and_the_request_once(collector: Collector) -> None:
    """As captured with n=2: 31 spans of 30 requests, 30 in the histograms of requests, their longest answers alone."""
    text, _, answers = await served(VLLM, collector, QUESTIONS[:3], n=2)
    page, real = Page(text), Page((REAL / "run1_tiny_http-s4-final.prom").read_text())
    usages = [answer["usage"] for answer in answers]

    assert len(collector.of("llm_request")) == page["vllm:request_prompt_tokens_count"] == 12
    assert page["vllm:request_params_n_count"] == page["vllm:request_max_num_generation_tokens_count"] == 6
    assert page["vllm:request_params_n_sum"] == 12
    assert page["vllm:request_max_num_generation_tokens_sum"] == page["vllm:generation_tokens_total"] / 2
    assert page["vllm:generation_tokens_total"] == sum(usage["completion_tokens"] for usage in usages)
    assert page["vllm:prompt_tokens_total"] == 2 * sum(usage["prompt_tokens"] for usage in usages)
    assert page["vllm:request_success_total"] == 12
    for histogram in ("request_params_n", "request_max_num_generation_tokens"):
        assert real[f"vllm:{histogram}_count"] == real["vllm:request_prompt_tokens_count"] - 1


async def test_preemptions_show_on_the_page_and_not_on_spans(collector: Collector) -> None:
    asked = [f"{at} {'words of one question alone ' * 12}" for at in range(6)]
    text, log, _ = await served(VLLM, collector, asked, memory=PagedMemory(1024))
    page = Page(text)

    preempted = sum(event.kind == "preempted" for event in log.events)
    assert preempted > 0
    assert page["vllm:num_preemptions_total"] == preempted == page["vllm:request_num_preemptions_sum"]
    first = [event for event in log.events if event.kind == "scheduled" and event.first]
    assert page["vllm:prefix_cache_queries_total"] == sum(event.prompt_tokens for event in first)
    assert not any("preempt" in key for span in collector.of("llm_request") for key in span.attributes)


async def test_an_engine_like_sglang_counts_at_the_end_and_names_no_queue(collector: Collector) -> None:
    text, log, answers = await served(SGLANG, collector, QUESTIONS, leave=True, costs=CostModel(max_sequences=4))
    page = Page(text)
    spans = [span for span in collector.spans if "Req" in span.name]

    assert len(spans) == 24
    assert page["sglang:num_requests_total"] == 24
    assert page["sglang:num_aborted_requests_total"] == 1
    assert page["sglang:prompt_tokens_total"] == sum(answer["usage"]["prompt_tokens"] for answer in answers)
    assert page["sglang:cached_tokens_total"] == sum(
        answer["usage"]["prompt_tokens_details"]["cached_tokens"] for answer in answers
    )
    assert page["sglang:cached_tokens_total"] == sum(
        span.attributes.get("gen_ai.usage.cached_tokens", 0) for span in spans
    )
    e2e = sum(span.attributes["gen_ai.latency.e2e"] for span in spans)
    assert page["sglang:e2e_request_latency_seconds_sum"] == pytest.approx(e2e)
    assert page["sglang:inter_token_latency_seconds_count"] == sum(
        event.tokens for event in log.events if event.kind == "made" and not event.first
    )
    assert page["sglang:max_total_num_tokens"] == 273_066
    assert page["sglang:page_size"] == 1
    assert "_created" not in text
    for span in spans:
        told = span.attributes
        assert "gen_ai.latency.time_in_queue" not in told
        assert told["gen_ai.latency.time_in_model_prefill"] <= told["gen_ai.latency.time_to_first_token"]
        assert told["gen_ai.response.model"] == MODEL


async def test_a_prompt_over_the_context_is_refused_without_a_span(collector: Collector) -> None:
    _, log, answers = await served(VLLM, collector, ["word " * 300], costs=CostModel(max_model_len=200))

    assert "maximum context length is 200" in answers[0]["error"]["message"]
    assert not log.events
    assert not collector.spans

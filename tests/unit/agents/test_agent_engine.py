"""The simulated engine: its costs, its cache, its queue, and what it tells."""

import asyncio

import httpx
import pytest

from agents.engine import CostModel, Playbook, Reply
from tests.unit.agents.rig import MODEL, Rig


def test_a_step_costs_what_the_model_states() -> None:
    costs = CostModel(
        step_overhead_s=1,
        prefill_per_token_s=0.5,
        decode_base_s=10,
        decode_per_sequence_s=2,
        attention_per_pair_s=0.25,
        decode_per_context_s=0.125,
    )

    assert costs.step_s(4, 0) == 1 + 4 * 0.5
    assert costs.step_s(0, 3) == 1 + 10 + 3 * 2
    assert costs.step_s(2, 1) == 1 + 2 * 0.5 + 10 + 2
    assert costs.step_s(2, 0, pairs=7) == 1 + 2 * 0.5 + 7 * 0.25
    assert costs.step_s(0, 2, context=8, draft_tokens=4) == 1 + 10 + 2 * 2 + 8 * 0.125 + 4 * 0.5


async def test_who_finds_no_place_waits(rig: Rig) -> None:
    rig.engine.scheduler.costs = CostModel(max_sequences=1)
    rig.playbook.plan("Go.", Reply("A few tokens of text."))

    await asyncio.gather(*(rig.agent().run("Go.") for _ in range(3)))

    spans = sorted(rig.told().of("llm_request"), key=lambda span: span.end_ns)
    assert len(spans) == 3
    ended_s = 0.0  # of the one before
    for span in spans:
        latency = {key.removeprefix("gen_ai.latency."): value for key, value in span.attributes.items()}
        end_s = span.start_ns / 1e9 + latency["e2e"]
        assert end_s - latency["time_in_model_inference"] >= ended_s - 0.001  # two clocks, a millisecond
        ended_s = end_s


async def test_its_latencies_add_up(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply("A few tokens of text."))

    await rig.agent().run("Go.")

    told = rig.told().one("llm_request")
    latency = {
        name.removeprefix("gen_ai.latency."): value for name, value in told.attributes.items() if "latency" in name
    }
    queue, prefill, decode = (
        latency[name] for name in ("time_in_queue", "time_in_model_prefill", "time_in_model_decode")
    )
    assert latency["time_in_model_inference"] == pytest.approx(prefill + decode)
    assert latency["time_to_first_token"] >= queue + prefill
    assert latency["e2e"] == pytest.approx(latency["time_to_first_token"] + decode)
    assert (told.end_ns - told.start_ns) / 1e9 >= latency["e2e"]  # as with the real one, the span ends a little later
    assert told.kind == 2  # server
    assert told.attributes["gen_ai.usage.completion_tokens"] == 6


async def test_an_answer_stops_at_the_limit(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply("A few tokens of text."))

    result = await rig.agent(model=rig.model(parameters={"max_tokens": 3})).run("Go.")

    assert result.text == "A few tokens"
    assert result.answers[0].finish_reason == "length"
    assert rig.told().one("chat").attributes["gen_ai.request.max_tokens"] == 3


async def test_a_client_that_leaves_frees_its_place_and_leaves_no_span(rig: Rig) -> None:
    rig.engine.scheduler.costs = CostModel(max_sequences=1)
    rig.playbook.plan("Long.", Reply("word " * 100_000))
    rig.playbook.plan("Short.", Reply("Hello."))
    begun = asyncio.Event()
    long = asyncio.create_task(rig.agent().run("Long.", on_text=lambda _: begun.set()))
    await begun.wait()

    long.cancel()
    result = await rig.agent().run("Short.")
    await asyncio.gather(long, return_exceptions=True)

    assert result.text == "Hello."
    assert len(rig.told().of("llm_request")) == 1


async def test_what_it_cannot_serve_it_refuses_with_a_reason(rig: Rig) -> None:
    good = {"model": MODEL, "messages": [{"role": "user", "content": "x"}]}
    for wrong, why in (
        ({"model": "other"}, "the model here is"),
        ({"messages": []}, "at least one message"),
        ({"messages": ["x"]}, "an object with a role"),
        ({"n": 0}, "n must be"),
        ({"n": "two"}, "n must be"),
        ({"n": 2, "temperature": 0}, "greedy sampling"),
        ({"max_tokens": "x"}, "max_tokens must be"),
    ):
        response = await rig.http.post(f"{rig.url}/chat/completions", json=good | wrong)

        assert response.status_code == 400
        assert why in response.json()["error"]["message"]


async def test_it_lists_its_model_and_knows_no_other_path(rig: Rig) -> None:
    models = await rig.http.get(f"{rig.url}/models")
    unknown = await rig.http.get(f"{rig.url}/completions")

    assert [model["id"] for model in models.json()["data"]] == [MODEL]
    assert unknown.status_code == 404


async def test_a_request_that_is_not_sampled_gets_no_span(rig: Rig) -> None:
    for flags in ("00", "02", "01", "03"):
        response = await ask(rig, {"traceparent": f"00-{'a' * 32}-{'b' * 16}-{flags}"})
        assert response.status_code == 200

    spans = rig.told().of("llm_request")
    assert [(span.trace_id, span.parent_id) for span in spans] == [("a" * 32, "b" * 16)] * 2


async def test_without_a_trace_its_span_is_a_root(rig: Rig) -> None:
    await ask(rig, {})

    assert rig.told().one("llm_request").parent_id == ""


def test_it_improvises_the_same_for_the_same_seed() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in "abc"]
    request = {"messages": [{"role": "user", "content": "?"}], "tools": tools}

    first, again = (Playbook(seed=7).reply(request) for _ in range(2))

    assert first == again
    assert [asked.arguments for asked in first.calls] == ['{"n": 1}'] * 2


async def ask(rig: Rig, headers: dict[str, str]) -> httpx.Response:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hello?"}], "max_tokens": 2}
    return await rig.http.post(f"{rig.url}/chat/completions", json=body, headers=headers)

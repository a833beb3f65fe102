"""Several answers to one request, and a tool parser that holds text back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agents.engine import CostModel, Refusal, Reply, call
from agents.engine.answers import holding, joined, passing
from agents.engine.core.profiles import INT4
from agents.tools import tool
from ingest.stages.decompose import decompose
from ingest.stages.model import Source
from tests.unit.agents.rig import MODEL, Rig
from tests.unit.agents.test_stages_are_true import as_ingested

TWO = Reply("Let me look.", calls=[call("look_up", number=7), call("look_up", number=8)])


async def chunks(rig: Rig, **given: Any) -> list[dict[str, Any]]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Go."}], "stream": True} | given
    found = []
    async with rig.http.stream("POST", f"{rig.url}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                found.append(json.loads(line[6:]))
    return found


@pytest.mark.parametrize("stream", [True, False])
async def test_two_answers_have_one_prompt_in_usage_and_two_in_the_engines_spans(rig: Rig, stream: bool) -> None:
    rig.playbook.plan("Go.", Reply("A few tokens of text."))
    asked = {"n": 2, "max_tokens": 4, "temperature": 0.7}

    if stream:
        told = await chunks(rig, **asked, stream_options={"include_usage": True})
        usage, id_ = told[-1]["usage"], told[0]["id"]
        texts = ["", ""]
        reasons = {}
        for choice in (each["choices"][0] for each in told[:-1]):
            texts[choice["index"]] += choice["delta"].get("content", "")
            reasons[choice["index"]] = choice["finish_reason"]
    else:
        body = {"model": MODEL, "messages": [{"role": "user", "content": "Go."}], **asked}
        whole = (await rig.http.post(f"{rig.url}/chat/completions", json=body)).json()
        usage, id_ = whole["usage"], whole["id"]
        texts = [choice["message"]["content"] for choice in whole["choices"]]
        reasons = {choice["index"]: choice["finish_reason"] for choice in whole["choices"]}

    assert texts == ["A few tokens of "] * 2
    assert reasons == {0: "length", 1: "length"}
    assert usage["completion_tokens"] == 8
    spans = rig.told().of("llm_request")
    assert [span.attributes["gen_ai.request.n"] for span in spans] == [2, 2]
    assert {span.attributes["gen_ai.request.id"] for span in spans} == {id_}
    assert [span.attributes["gen_ai.usage.prompt_tokens"] for span in spans] == [usage["prompt_tokens"]] * 2
    assert [span.attributes["gen_ai.usage.completion_tokens"] for span in spans] == [4, 4]


async def test_one_answer_that_fails_ends_them_all(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply("A few tokens of text.", refusal=Refusal(after_tokens=2, message="lost")))

    told = await chunks(rig, n=3)

    assert told[-1]["error"]["message"] == "lost"
    async with asyncio.timeout(10):  # the others hear of it in their next step
        while not rig.engine.scheduler.idle:
            await asyncio.sleep(0.01)
    assert rig.engine.scheduler.memory.held_tokens == 0


def test_a_parser_that_holds_sends_each_call_when_it_is_whole() -> None:
    deltas = TWO.deltas()
    held = holding(deltas)

    assert len(held) == len(deltas)
    assert joined(delta for sent in held for delta in sent) == joined(deltas)
    sent = [at for at, each in enumerate(held) if each]
    begins = [at for at, delta in enumerate(deltas) if "id" in (delta.get("tool_calls") or [{}])[0]]
    assert sent == [0, 1, 2, begins[1] - 1, len(deltas) - 1]
    assert held[-1][0]["tool_calls"][0]["function"] == {"name": "look_up", "arguments": '{"number": 8}'}


def test_a_call_that_is_cut_short_is_never_sent() -> None:
    deltas = TWO.deltas()

    assert not any("tool_calls" in delta for sent in holding(deltas)[:5] for delta in sent)
    assert any("tool_calls" in delta for sent in passing(deltas)[:5] for delta in sent)


async def test_a_parser_that_holds_makes_the_client_late_and_sixstage_believes_the_engine(rig: Rig) -> None:
    rig.engine._shown = holding
    rig.playbook.plan("Go.", Reply(calls=[call("look_up", text="word " * 60)]), Reply("Well."))

    @tool
    async def look_up(text: str) -> str:
        """Look something up."""
        return "found"

    result = await rig.agent(look_up).run("Go.")

    assert (result.text, result.failed_tools) == ("Well.", 0)
    told = rig.told()
    (run,) = decompose([as_ingested(span) for span in told.spans]).runs
    engine = min(told.of("llm_request"), key=lambda span: span.start_ns)
    chat = min(told.of("chat"), key=lambda span: span.start_ns)
    seen_ns = next(event.at_ns for event in chat.events if event.name == "gen_ai.first_token") - chat.start_ns
    assert seen_ns / 1e9 > engine.attributes["gen_ai.latency.time_to_first_token"] * 2
    assert run.calls[0].source is Source.ENGINE
    assert run.calls[0].prefill_ns == pytest.approx(
        engine.attributes["gen_ai.latency.time_in_model_prefill"] * 1e9, abs=2
    )


async def test_coarse_weights_lose_braces_and_the_agent_is_told(rig: Rig) -> None:
    rig.engine._quantisation = INT4
    rig.playbook.plan("Go.", Reply(calls=[call("look_up", number=at) for at in range(200)]))
    request = {"messages": [{"role": "user", "content": "Go."}]}

    asked = rig.engine._misformed(rig.playbook.reply(request)).calls

    broken = sum(not each.arguments.endswith("}") for each in asked)
    assert 1 <= broken <= 25  # 4 % of 200, five standard deviations
    assert INT4.applied(CostModel()).decode_base_s == CostModel().decode_base_s / 2


async def test_its_first_step_is_late_when_it_was_not_warmed_up(rig: Rig) -> None:
    rig.engine.scheduler.costs = CostModel(first_step_s=4)
    rig.playbook.plan("Go.", Reply("Well."))

    await rig.agent().run("Go.")
    await rig.agent().run("Go.")

    cold, warm = sorted(rig.told().of("llm_request"), key=lambda span: span.start_ns)
    late = (
        cold.attributes["gen_ai.latency.time_in_model_prefill"]
        - warm.attributes["gen_ai.latency.time_in_model_prefill"]
    )
    assert late >= 4 / 40 * 0.5  # the clock runs forty times as fast

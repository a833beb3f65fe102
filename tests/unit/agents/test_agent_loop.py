"""The reference agent on the simulated engine: what it answers, and what it tells."""

import asyncio
import json

import pytest

from agents.engine import Reply, call
from agents.errors import RoundBudgetError
from agents.telemetry import Telemetry
from agents.tools import tool
from tests.unit.agents.rig import MODEL, Rig, bodies

QUESTION = "Where is order 7?"


@tool
async def find_order(number: int, with_items: bool = False) -> dict[str, object]:
    """Find an order."""
    return {"number": number, "state": "on its way"}


def plan_one_round(rig: Rig) -> None:
    rig.playbook.plan(QUESTION, Reply(calls=[call("find_order", number=7)]), Reply("It is on its way. " * 4))


async def test_it_tells_a_run_as_a_tree(rig: Rig) -> None:
    plan_one_round(rig)

    result = await rig.agent(find_order).run(QUESTION, conversation_id="conv-1", user_id="user-1")

    told = rig.told()
    assert result.text.startswith("It is on its way.")
    assert result.rounds == 2
    run, (first, second) = told.one("invoke_agent"), told.of("chat")
    parse, used = told.one("parse tool calls"), told.one("execute_tool")
    assert run.parent_id == ""
    assert {span.parent_id for span in (first, second, parse, used)} == {run.span_id}
    assert {span.trace_id for span in told.spans} == {run.trace_id}
    assert [s.parent_id for s in told.of("llm_request")] == [first.span_id, second.span_id]


async def test_its_spans_follow_each_other_inside_the_run(rig: Rig) -> None:
    plan_one_round(rig)

    await rig.agent(find_order).run(QUESTION)

    told = rig.told()
    run, (first, second) = told.one("invoke_agent"), told.of("chat")
    order = [run.start_ns]
    for span in (first, told.one("parse tool calls"), told.one("execute_tool"), second):
        order += [span.start_ns, span.end_ns]
    assert [*order, run.end_ns] == sorted([*order, run.end_ns])
    for chat in (first, second):
        (token,) = [event for event in chat.events if event.name == "gen_ai.first_token"]
        assert chat.start_ns < token.at_ns < chat.end_ns
        # The first chunk is only the role; the first token comes right after it.
        chunk_ns = chat.attributes["gen_ai.response.time_to_first_chunk"] * 1e9
        assert 0 < chunk_ns <= token.at_ns - chat.start_ns + 1_000_000


async def test_it_names_things_as_the_conventions_do(rig: Rig) -> None:
    plan_one_round(rig)

    await rig.agent(find_order, instructions="Be brief.").run(QUESTION, conversation_id="conv-1", user_id="user-1")

    told = rig.told()
    run, chat, used = told.one("invoke_agent"), told.of("chat")[0], told.one("execute_tool")
    assert run.name == "invoke_agent support"
    assert run.attributes["gen_ai.agent.name"] == "support"
    assert run.attributes["user.id"] == "user-1"
    assert {s.attributes["gen_ai.conversation.id"] for s in (run, chat, used)} == {"conv-1"}
    assert chat.name == f"chat {MODEL}"
    assert chat.kind == 3  # client
    expected = {
        "gen_ai.provider.name": "vllm",
        "gen_ai.request.model": MODEL,
        "gen_ai.response.model": MODEL,
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "gen_ai.usage.cache_read.input_tokens": 0,
        "server.address": "127.0.0.1",
        "server.port": int(rig.url.split(":")[2].split("/")[0]),
    }
    assert expected.items() <= chat.attributes.items()
    assert chat.attributes["gen_ai.usage.input_tokens"] > 0
    assert told.one("parse tool calls").attributes["sixstage.stage"] == "tool_parsing"
    assert used.attributes["gen_ai.tool.name"] == "find_order"
    assert json.loads(used.attributes["gen_ai.tool.call.arguments"]) == {"number": 7}
    assert json.loads(used.attributes["gen_ai.tool.call.result"])["state"] == "on its way"


async def test_its_messages_are_role_and_parts(rig: Rig) -> None:
    plan_one_round(rig)

    await rig.agent(find_order, instructions="Be brief.").run(QUESTION)

    told = rig.told()
    (first, second), used = told.of("chat"), told.one("execute_tool")
    call_id = used.attributes["gen_ai.tool.call.id"]
    asked = {"type": "tool_call", "id": call_id, "name": "find_order", "arguments": {"number": 7}}
    assert json.loads(first.attributes["gen_ai.system_instructions"]) == [{"type": "text", "content": "Be brief."}]
    assert json.loads(first.attributes["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [asked], "finish_reason": "tool_calls"}
    ]
    user, assistant, answer = json.loads(second.attributes["gen_ai.input.messages"])
    assert user == {"role": "user", "parts": [{"type": "text", "content": QUESTION}]}
    assert assistant["parts"] == [asked]
    assert answer["role"] == "tool"
    assert answer["parts"][0]["type"] == "tool_call_response"
    assert answer["parts"][0]["id"] == call_id


async def test_it_says_who_it_is_and_that_the_engine_is_simulated(rig: Rig) -> None:
    plan_one_round(rig)

    await rig.agent(find_order).run(QUESTION)

    resource = rig.told().one("invoke_agent").resource
    assert resource["service.name"] == "shop-support"
    assert resource["service.version"] == "1.2.3"
    assert resource["deployment.environment.name"] == "testing"
    assert {s.resource["sixstage.simulated"] for s in rig.collector.spans} == {True}


async def test_the_engines_span_is_found_by_the_response_id_too(rig: Rig) -> None:
    plan_one_round(rig)

    await rig.agent(find_order).run(QUESTION)

    told = rig.told()
    for chat, engine in zip(told.of("chat"), told.of("llm_request"), strict=True):
        assert engine.attributes["gen_ai.request.id"] == chat.attributes["gen_ai.response.id"]
        assert engine.attributes["gen_ai.usage.prompt_tokens"] == chat.attributes["gen_ai.usage.input_tokens"]
        assert chat.start_ns < engine.start_ns < engine.end_ns < chat.end_ns


async def test_tools_of_a_round_run_side_by_side_and_answer_in_the_askers_order(rig: Rig) -> None:
    both = asyncio.Barrier(2)  # nobody passes alone
    second_done = asyncio.Event()

    async def slow() -> str:
        await both.wait()
        await second_done.wait()
        return "slow"

    async def quick() -> str:
        await both.wait()
        second_done.set()
        return "quick"

    rig.playbook.plan("Both?", Reply(calls=[call("slow"), call("quick")]), Reply("Done."))

    result = await rig.agent(tool(slow), tool(quick), tool_timeout_s=5).run("Both?")

    one, two = rig.told().of("execute_tool")
    assert bodies(result.messages) == ["slow", "quick"]
    assert max(one.start_ns, two.start_ns) < min(one.end_ns, two.end_ns)


async def test_a_sub_agent_is_told_inside_the_tool_that_it_is(rig: Rig) -> None:
    rig.playbook.plan("Is it true?", Reply(calls=[call("checker", task="Check it.")]), Reply("Yes."))
    rig.playbook.plan("Check it.", Reply("It holds."))
    checker = rig.agent(name="checker").as_tool("Check a claim.")

    result = await rig.agent(checker).run("Is it true?", conversation_id="conv-2")

    told = rig.told()
    outer, inner = told.of("invoke_agent")
    assert bodies(result.messages) == ["It holds."]
    assert inner.parent_id == told.one("execute_tool").span_id
    assert [s.parent_id for s in told.of("chat")] == [outer.span_id, inner.span_id, outer.span_id]
    assert inner.attributes["gen_ai.conversation.id"] == "conv-2"


async def test_a_call_that_is_not_streamed_claims_no_first_token(rig: Rig) -> None:
    rig.playbook.plan("Sort this.", Reply("Returns."))

    result = await rig.agent(model=rig.model(stream=False)).run("Sort this.")

    chat = rig.told().one("chat")
    assert result.text == "Returns."
    assert chat.events == []
    assert "gen_ai.response.time_to_first_chunk" not in chat.attributes
    assert "gen_ai.request.stream" not in chat.attributes
    assert chat.attributes["gen_ai.usage.output_tokens"] == 2


async def test_tool_calls_come_whole_when_not_streamed(rig: Rig) -> None:
    plan_one_round(rig)

    result = await rig.agent(find_order, model=rig.model(stream=False)).run(QUESTION)

    assert json.loads(bodies(result.messages)[0])["number"] == 7


async def test_the_next_turn_finds_the_prefix_in_the_cache(rig: Rig) -> None:
    rig.playbook.plan("First?", Reply("One."))
    rig.playbook.plan("Second?", Reply("Two."))
    agent = rig.agent(instructions="A long rule. " * 100)

    first = await agent.run("First?")
    second = await agent.run("Second?", history=first.messages)

    cached, prompt = second.answers[0].cached_tokens, second.answers[0].input_tokens
    assert first.answers[0].cached_tokens == 0
    assert cached is not None
    assert prompt is not None
    assert cached % 16 == 0
    assert 300 < cached < prompt


async def test_text_is_handed_on_as_it_comes(rig: Rig) -> None:
    rig.playbook.plan("Tell me.", Reply("A longer answer, in pieces."))
    pieces: list[str] = []

    result = await rig.agent().run("Tell me.", on_text=pieces.append)

    assert len(pieces) > 3
    assert "".join(pieces) == result.text


async def test_it_ends_when_the_model_only_asks_for_tools(rig: Rig) -> None:
    rig.playbook.plan(QUESTION, Reply(calls=[call("find_order", number=7)]))

    with pytest.raises(RoundBudgetError, match="2 rounds"):
        await rig.agent(find_order, max_rounds=2).run(QUESTION)

    told = rig.told()
    assert len(told.of("chat")) == 3  # two with tools, and one that had to answer without
    assert told.one("invoke_agent").attributes["error.type"] == "round_budget_exceeded"


async def test_content_is_not_told_unless_asked_for(rig: Rig) -> None:
    plan_one_round(rig)
    with Telemetry("discreet", endpoint=rig.collector.url) as telemetry:
        await rig.agent(find_order, telemetry=telemetry).run(QUESTION)

    named = {name for span in rig.told().spans for name in span.attributes}
    assert not [name for name in named if "messages" in name or "instructions" in name]
    assert not named & {"gen_ai.tool.call.arguments", "gen_ai.tool.call.result"}


async def test_approval_counts_as_tool_parsing(rig: Rig) -> None:
    plan_one_round(rig)
    seen: list[str] = []

    async def approve(asked):
        seen.extend(each.name for each in asked)

    await rig.agent(find_order, approve=approve).run(QUESTION)

    assert seen == ["find_order"]

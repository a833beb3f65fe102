"""The reference agent with a semantic cache before its model, and its model behind a pool."""

from __future__ import annotations

import asyncio

import pytest

from agents.engine import Refusal, Reply, call
from agents.errors import ModelError
from agents.retries import Retries
from agents.techniques.inference_pool import BATCH, INTERACTIVE, InferencePool
from agents.techniques.semantic_cache import SemanticCache
from agents.tools import tool
from ingest.stages.decompose import decompose
from ingest.stages.model import Outside
from tests.unit.agents.rig import Rig
from tests.unit.agents.test_agent_faults import assert_complete
from tests.unit.agents.test_stages_are_true import as_ingested


async def test_a_user_who_asks_again_gets_the_answer_without_the_model(rig: Rig) -> None:
    rig.playbook.plan("Hours?", Reply("From nine to six."))
    agent, heard = rig.agent(cache=SemanticCache()), []

    first = await agent.run("Hours?", user_id="ann")
    again = await agent.run("hours?", user_id="ann", on_text=heard.append)

    assert (first.cached, again.cached) == (False, True)
    assert again.text == first.text == heard[0]
    assert (again.rounds, [message["role"] for message in again.messages]) == (0, ["user", "assistant"])
    told = rig.told()
    assert len(told.of("chat")) == 1
    assert [span.attributes["sixstage.cache.result"] for span in told.of("semantic cache")] == ["miss", "exact"]
    roots = {span.span_id for span in told.of("invoke_agent")}
    assert {span.parent_id for span in told.of("semantic cache")} == roots
    assert_complete([span for span in told.spans if span.trace_id == told.of("chat")[0].trace_id])


async def test_another_user_an_unknown_one_and_a_later_turn_ask_the_model(rig: Rig) -> None:
    rig.playbook.plan("Hours?", Reply("From nine to six."))
    agent = rig.agent(cache=SemanticCache())
    first = await agent.run("Hours?", user_id="ann")

    others = [
        await agent.run("Hours?", user_id="bob"),
        await agent.run("Hours?"),
        await agent.run("Hours?", user_id="ann", history=first.messages),
    ]

    assert [each.cached for each in others] == [False] * 3
    assert len(rig.told().of("semantic cache")) == 2  # a question without a user is none of the cache's business


async def test_what_took_tools_or_was_cut_is_not_kept(rig: Rig) -> None:
    @tool
    async def look_up(number: int) -> str:
        """Look something up."""
        return "on its way"

    rig.playbook.plan("Where?", Reply(calls=[call("look_up", number=7)]), Reply("On its way."))
    rig.playbook.plan("Why?", Reply("Because of many reasons."))
    agent = rig.agent(look_up, cache=SemanticCache())
    short = rig.agent(model=rig.model(parameters={"max_tokens": 2}), cache=agent.cache)

    for asked, agent_ in (("Where?", agent), ("Why?", short)):
        await agent_.run(asked, user_id="ann")
        assert not (await agent_.run(asked, user_id="ann")).cached


async def test_no_more_calls_than_the_pool_has_places_and_who_is_in_a_hurry_goes_first(rig: Rig) -> None:
    for name in ("first", "batch", "user"):
        rig.playbook.plan(f"{name}?", Reply("Some words of an answer. " * 4))
    pool, ended = InferencePool(1), []

    async def ask(name: str, priority: int) -> None:
        model = rig.model(pool=pool, tenant=name, priority=priority)
        await rig.agent(name=name, model=model).run(f"{name}?")
        ended.append(name)
        assert len(rig.engine.scheduler.running) <= 1

    await asyncio.gather(ask("first", BATCH), ask("batch", BATCH), ask("user", INTERACTIVE))

    assert ended == ["first", "user", "batch"]
    assert (pool.running, pool.waiting) == (0, 0)
    told = rig.told()
    assert len(told.of("inference pool")) == 2
    waits = {}
    for trace in {span.trace_id for span in told.spans}:
        (run,) = decompose([as_ingested(span) for span in told.spans if span.trace_id == trace]).runs
        waits[run.name] = run.breakdown.outside_ns[Outside.QUEUE]
    assert waits["first"] < waits["user"] < waits["batch"]


async def test_a_call_that_fails_or_is_cancelled_gives_its_place_back(rig: Rig) -> None:
    rig.playbook.plan("Fail.", Reply(refusal=Refusal(status=503)))
    rig.playbook.plan("Long.", Reply("word " * 5_000))
    pool, begun = InferencePool(1), asyncio.Event()
    agent = rig.agent(model=rig.model(pool=pool, retries=Retries(attempts=2, first_s=0.01)))

    with pytest.raises(ModelError):
        await agent.run("Fail.")
    long = asyncio.create_task(agent.run("Long.", on_text=lambda _: begun.set()))
    waiting = asyncio.create_task(agent.run("Long."))
    await begun.wait()
    for task in (waiting, long):
        task.cancel()
    await asyncio.gather(long, waiting, return_exceptions=True)

    assert (pool.running, pool.waiting) == (0, 0)
    told = rig.told()
    assert told.one("inference pool").attributes["error.type"] == "cancelled"
    assert all(span.start_ns <= span.end_ns for span in told.spans)

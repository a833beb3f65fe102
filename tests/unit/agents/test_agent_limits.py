"""Retries, budgets, bounded tools, and the decorators."""

from __future__ import annotations

import asyncio
from random import Random

import pytest

from agents.engine import Refusal, Reply, call
from agents.errors import ModelError, TimeBudgetError, TokenBudgetError
from agents.retries import Retries
from agents.techniques.bounded_tools import BoundedTools
from agents.techniques.inference_pool import InferencePool
from agents.techniques.semantic_cache import Scope, SemanticCache
from agents.telemetry import told_as_agent, told_as_tool
from agents.tools import tool
from ingest.stages.decompose import decompose
from ingest.stages.model import Outside
from tests.unit.agents.rig import Rig, bodies
from tests.unit.agents.test_agent_faults import assert_complete
from tests.unit.agents.test_stages_are_true import as_ingested

QUICKLY = Retries(attempts=3, first_s=0.05, random=Random(1))


class Flaky:
    """A playbook whose first answers fail."""

    def __init__(self, rig: Rig, failures: int, status: int = 503) -> None:
        self._reply, self._left, self._status = rig.playbook.reply, failures, status
        self.asked = 0
        rig.engine.playbook = self  # type: ignore[assignment]

    def reply(self, request: dict) -> Reply:
        self.asked += 1
        self._left -= 1
        return Reply(refusal=Refusal(status=self._status)) if self._left >= 0 else self._reply(request)


async def test_a_busy_engine_is_asked_again_and_sixstage_sees_one_call(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply("Fine."))
    flaky = Flaky(rig, failures=2)

    result = await rig.agent(model=rig.model(retries=QUICKLY)).run("Go.")

    told = rig.told()
    assert (result.text, flaky.asked) == ("Fine.", 3)
    assert [span.attributes.get("sixstage.attempt") for span in told.of("chat")] == [None, 1, 2, 3]
    (run,) = decompose([as_ingested(span) for span in told.spans]).runs
    assert [(one.attempts, one.error, one.output_tokens) for one in run.calls] == [(3, None, 2)]
    assert_complete(told.spans)


@pytest.mark.parametrize(("failures", "status", "asked"), [(9, 503, 3), (9, 400, 1)])
async def test_it_gives_up_in_the_end_and_at_once_where_it_is_no_use(
    rig: Rig, failures: int, status: int, asked: int
) -> None:
    flaky = Flaky(rig, failures, status)

    with pytest.raises(ModelError, match=str(status)):
        await rig.agent(model=rig.model(retries=QUICKLY)).run("Go.")

    assert flaky.asked == asked


async def test_what_broke_after_its_first_token_is_not_asked_again(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply("Some text.", refusal=Refusal(after_tokens=1)))

    with pytest.raises(ModelError):
        await rig.agent(model=rig.model(retries=QUICKLY)).run("Go.")

    assert len(rig.told().of("chat")) == 2  # the call and its only attempt


def test_pauses_grow_are_random_and_keep_to_what_the_server_says() -> None:
    retries = Retries(attempts=9, first_s=1, longest_s=4, random=Random(2))
    error = ModelError("busy", transient=True)
    for attempt, most in ((1, 1), (2, 2), (3, 4), (8, 4)):
        pauses = {retries.pause_s(error, attempt) for _ in range(50)}
        assert len(pauses) > 40
        assert all(pause is not None and 0 <= pause <= most for pause in pauses)
    assert retries.pause_s(error, 9) is None
    assert retries.pause_s(ModelError("wrong"), 1) is None
    assert retries.pause_s(ModelError("busy", transient=True, retry_after_s=3), 1) == 3
    assert retries.pause_s(ModelError("busy", transient=True, retry_after_s=60), 1) is None


async def test_budgets_end_the_run(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("wait")]), Reply("Late."))

    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(TimeBudgetError, match=r"longer than 0\.3 s"):
        await rig.agent(wait, time_budget_s=0.3).run("Go.")
    with pytest.raises(TokenBudgetError, match="of 5"):
        await rig.agent(wait, token_budget=5).run("Go.")

    told = rig.told()
    errors = {span.attributes["error.type"] for span in told.of("invoke_agent")}
    assert errors == {"time_budget_exceeded", "token_budget_exceeded"}


async def test_bounded_tools_keep_their_time_and_the_model_is_told_who_was_late(rig: Rig) -> None:
    @tool
    async def slow(number: int) -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    @tool
    async def quick(number: int) -> str:
        """Answer."""
        return f"{number}"

    asked = [call("slow", number=1), call("quick", number=2), call("nobody"), call("quick", number=3)]
    rig.playbook.plan("Go.", Reply(calls=asked), Reply("Well."))

    result = await rig.agent(slow, quick, bounded=BoundedTools(2, overall_s=0.3)).run("Go.")

    late, two, unknown, three = bodies(result.messages)
    assert late.startswith("Error: slow was stopped after")
    assert (two, three) == ("2", "3")
    assert "no tool 'nobody'" in unknown
    told = rig.told()
    spans = {span.attributes["gen_ai.tool.name"]: span for span in told.of("execute_tool")}
    assert spans["slow"].attributes["error.type"] == "timeout"
    assert_complete(told.spans)


async def test_a_tool_that_had_no_turn_is_told_and_traced(rig: Rig) -> None:
    @tool
    async def slow(number: int) -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "never"

    rig.playbook.plan("Go.", Reply(calls=[call("slow", number=1), call("slow", number=2)]), Reply("Well."))

    result = await rig.agent(slow, bounded=BoundedTools(1, overall_s=0.2)).run("Go.")

    assert "was not started" in bodies(result.messages)[1]
    errors = [span.attributes["error.type"] for span in rig.told().of("execute_tool")]
    assert sorted(errors) == ["timeout", "tool_refused"]


async def test_decorated_functions_are_runs_and_tools(rig: Rig) -> None:
    @told_as_tool(rig.telemetry)
    async def look_up(number: int) -> dict[str, int]:
        return {"found": number}

    @told_as_tool(rig.telemetry, name="check")
    def checked(number: int) -> str:
        raise ValueError("wrong")

    @told_as_agent(rig.telemetry)
    async def assistant() -> str:
        with pytest.raises(ValueError, match="wrong"):
            checked(2)
        return str(await look_up(number=7))

    assert await assistant() == "{'found': 7}"
    told = rig.told()
    assert told.one("invoke_agent").attributes["gen_ai.agent.name"] == "assistant"
    failed, good = told.of("execute_tool")
    assert (failed.attributes["gen_ai.tool.name"], failed.attributes["error.type"]) == ("check", "ValueError")
    assert good.attributes["gen_ai.tool.call.arguments"] == '{"number": 7}'
    assert good.attributes["gen_ai.tool.call.result"] == '{"found": 7}'


async def test_waiting_in_the_pool_is_queue_time_and_the_cache_says_what_it_did(rig: Rig) -> None:
    pool = InferencePool(1, telemetry=rig.telemetry)
    cache = SemanticCache(telemetry=rig.telemetry)
    await cache.keep(Scope("acme"), "Hours?", "9 to 5")
    begun = asyncio.Event()

    async def hold() -> None:
        async with pool.slot():
            begun.set()
            await asyncio.sleep(0.1)

    holding = asyncio.create_task(hold())
    await begun.wait()
    with rig.telemetry.agent("a"):
        await cache.find(Scope("acme", "ann"), "hours?")
        async with pool.slot() as waited_ns:
            with rig.telemetry.chat("m", provider="p") as chat:
                chat.token()
    await holding

    told = rig.told()
    (run,) = decompose([as_ingested(span) for span in told.spans]).runs
    assert abs(run.breakdown.outside_ns[Outside.QUEUE] - waited_ns) < 20_000_000
    assert told.one("semantic cache").attributes["sixstage.cache.result"] == "exact"

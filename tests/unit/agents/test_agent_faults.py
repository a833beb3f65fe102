"""Whatever breaks, the run ends, says why, and leaves complete spans."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agents.engine import Refusal, Reply, call
from agents.engine.playbook import AskedTool
from agents.errors import ModelError
from agents.telemetry import Telemetry
from agents.tools import Tool, tool
from tests.unit.agents.otlp_collector import Span
from tests.unit.agents.rig import Rig, bodies


@tool
async def find_order(number: int) -> str:
    """Find an order."""
    return "on its way"


@tool
async def raising(number: int) -> str:
    """Raise."""
    raise LookupError("no such order")


async def _hang(number: int) -> str:
    await asyncio.Event().wait()
    return "never"


hanging = tool(_hang, name="hanging", timeout_s=0.05)

FAULTS = {
    "unknown tool": (call("cancel_order", number=7), "unknown_tool", "There is no tool 'cancel_order'"),
    "malformed JSON": (AskedTool("find_order", '{"number": 7'), "malformed_arguments", "not valid JSON"),
    "not an object": (AskedTool("find_order", "[7]"), "malformed_arguments", "must be a JSON object"),
    "wrong type": (call("find_order", number="7"), "malformed_arguments", "expected"),
    "missing": (call("find_order"), "malformed_arguments", "needs number"),
    "one too many": (call("find_order", number=7, colour="red"), "malformed_arguments", "no argument colour"),
    "raising": (call("raising", number=7), "LookupError", "no such order"),
    "hanging": (call("hanging", number=7), "timeout", "took longer than 0.05 s"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_tool_that_fails_is_told_to_the_model_and_the_run_goes_on(rig: Rig, fault: str) -> None:
    asked, error_type, message = FAULTS[fault]
    rig.playbook.plan("Go.", Reply(calls=[asked]), Reply("Sorry."))

    result = await rig.agent(find_order, raising, hanging).run("Go.")

    told = rig.told()
    used = told.one("execute_tool")
    assert result.text == "Sorry."
    assert result.failed_tools == 1
    assert message in bodies(result.messages)[0]
    assert used.failed
    assert used.attributes["error.type"] == error_type
    assert message in used.status
    assert [event.name for event in used.events] == ["exception"]
    assert not told.one("invoke_agent").failed
    assert_complete(told.spans)


async def test_one_failing_tool_leaves_the_others_of_its_round_alone(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("raising", number=1), call("find_order", number=2)]), Reply("Half."))

    result = await rig.agent(find_order, raising).run("Go.")

    assert bodies(result.messages)[1] == "on its way"


async def test_an_engine_that_refuses_ends_the_run(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(refusal=Refusal(status=503, message="too busy")))

    with pytest.raises(ModelError, match="HTTP 503: too busy"):
        await rig.agent().run("Go.")

    assert_failed(rig, "503")


@pytest.mark.parametrize("stream", [True, False])
async def test_an_engine_that_fails_in_the_middle_ends_the_run(rig: Rig, stream: bool) -> None:
    rig.playbook.plan("Go.", Reply("A long answer. " * 20, refusal=Refusal(after_tokens=5, message="lost")))

    with pytest.raises(ModelError, match="lost"):
        await rig.agent(model=rig.model(stream=stream)).run("Go.")

    assert_failed(rig, "stream_error" if stream else "500")
    assert bool(rig.collector.one("chat").events[0].name == "gen_ai.first_token") is stream


async def test_a_stream_that_is_cut_is_no_answer(rig: Rig) -> None:
    half = b'data: {"id": "x", "choices": [{"index": 0, "delta": {"content": "Half"}}]}\n\n'

    async with canned(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + half) as url:
        with pytest.raises(ModelError, match="ended before the answer did"):
            await rig.agent(model=rig.model(base_url=url)).run("Go.")

    assert_failed(rig, "stream_cut")


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_is_no_json_is_no_answer(rig: Rig, stream: bool) -> None:
    body = b"data: {oops\n\n"

    async with canned(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)) as url:
        with pytest.raises(ModelError, match="not"):
            await rig.agent(model=rig.model(base_url=url, stream=stream)).run("Go.")

    assert_failed(rig, "bad_response")


async def test_an_engine_that_is_away_ends_the_run(rig: Rig) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        with pytest.raises(ModelError, match="ConnectError"):
            await rig.agent(model=rig.model(base_url=url)).run("Go.")

    assert_failed(rig, "ConnectError")


async def test_a_cancelled_run_cancels_its_tools_and_ends_its_spans(rig: Rig) -> None:
    begun = asyncio.Event()

    async def patient() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    rig.playbook.plan("Go.", Reply(calls=[call("patient")]), Reply("Never."))
    running = asyncio.create_task(rig.agent(tool(patient)).run("Go."))
    await begun.wait()

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    told = rig.told()
    for span in (told.one("invoke_agent"), told.one("execute_tool")):
        assert span.attributes["error.type"] == "cancelled"
    assert_complete(told.spans)


async def test_a_collector_that_is_away_changes_no_answer(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("find_order", number=7)]), Reply("On its way."))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with Telemetry("lonely", endpoint=nobody, every_s=0.01, close_s=0.2) as lonely:
            result = await rig.agent(find_order, telemetry=lonely).run("Go.")

    assert (result.text, result.failed_tools) == ("On its way.", 0)


async def test_a_failing_sub_agent_is_a_failing_tool(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("helper", task="Help.")]), Reply("Alone, then."))
    rig.playbook.plan("Help.", Reply(refusal=Refusal(status=500)))
    helper: Tool = rig.agent(name="helper").as_tool("Help.")

    result = await rig.agent(helper).run("Go.")

    assert result.text == "Alone, then."
    assert rig.told().one("execute_tool").attributes["error.type"] == "500"


def assert_failed(rig: Rig, error_type: str) -> None:
    """The chat and the run are marked as failed, and the engine, which had no result, says nothing."""
    told = rig.told()
    for span in (told.one("chat"), told.one("invoke_agent")):
        assert span.failed
        assert span.attributes["error.type"] == error_type
    assert told.of("llm_request") == []
    assert_complete(told.spans)


def assert_complete(spans: list[Span]) -> None:
    """One root, and everybody's parent is there."""
    known = {span.span_id for span in spans}
    assert [span.operation for span in spans if span.parent_id not in known] == ["invoke_agent"]
    assert all(span.start_ns <= span.end_ns for span in spans)


@asynccontextmanager
async def canned(answer: bytes) -> AsyncIterator[str]:
    """A server that gives every request the same bytes, and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.split(b":")[1]))
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"

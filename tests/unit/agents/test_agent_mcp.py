"""Tools of MCP servers, over stdio and over Streamable HTTP, and what happens when a server dies."""

import asyncio
import sys
from pathlib import Path

import httpx
import pytest

from agents.engine import Reply, call
from agents.errors import McpError
from agents.mcp import connect_http, connect_stdio
from tests.unit.agents.mcp_server import app
from tests.unit.agents.rig import Rig, bodies
from tests.unit.agents.test_agent_faults import assert_complete

SERVER = (sys.executable, str(Path(__file__).with_name("mcp_server.py")))
URL = "http://tools.example/mcp"


async def test_an_agent_uses_tools_over_stdio_and_the_trace_goes_along(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("find", number=7)]), Reply("Found."))

    async with connect_stdio(*SERVER) as server:
        result = await rig.agent(*await server.tools()).run("Go.")

    told = rig.told()
    span = told.one("execute_tool")
    (body,) = bodies(result.messages)
    assert body.startswith(f"order 7, 00-{span.trace_id}-{span.span_id}-")
    assert body.endswith("\n[image]")
    assert span.attributes["mcp.method.name"] == "tools/call"
    assert span.attributes["mcp.protocol.version"] == "2025-03-26"
    assert span.attributes["network.transport"] == "pipe"
    assert span.attributes["jsonrpc.request.id"] == "4"
    assert len(told.of("execute_tool")) == 1  # the facts are on the span around, not on a second one


async def test_an_agent_uses_tools_over_http(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("find", number=7), call("fail", number=8)]), Reply("Found."))

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http, connect_http(URL, http) as server:
        result = await rig.agent(*await server.tools()).run("Go.")

    found, failed = bodies(result.messages)
    spans = {span.attributes["gen_ai.tool.name"]: span for span in rig.told().of("execute_tool")}
    assert spans["find"].span_id in found
    assert spans["find"].attributes["network.transport"] == "tcp"
    assert failed == "Error: no such order"
    assert spans["fail"].attributes["error.type"] == "mcp_error"


async def test_a_server_that_dies_fails_the_tool_and_not_the_run(rig: Rig) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("die", number=7)]), Reply(calls=[call("find", number=7)]), Reply("No."))

    async with connect_stdio(*SERVER) as server:
        result = await rig.agent(*await server.tools()).run("Go.")

    assert result.text == "No."
    assert bodies(result.messages) == [
        "Error: the MCP server ended in the middle of a request",
        "Error: the MCP server has ended",
    ]
    told = rig.told()
    assert [span.attributes["error.type"] for span in told.of("execute_tool")] == ["mcp_error"] * 2
    assert_complete(told.spans)


async def test_a_server_that_hangs_is_given_up() -> None:
    async with connect_stdio(*SERVER, timeout_s=30) as server:
        server._timeout_s = 0.2
        with pytest.raises(McpError, match=r"no answer within 0\.2 s"):
            await server.call("hang", {"number": 1})


async def test_a_server_that_is_no_server_says_so() -> None:
    with pytest.raises(McpError, match="ended"):
        async with connect_stdio(sys.executable, "-c", "pass"):
            pass

    async def refuses(scope: object, receive: object, send: object) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})  # type: ignore[operator]
        await send({"type": "http.response.body", "body": b"nothing here"})  # type: ignore[operator]

    async with httpx.AsyncClient(transport=httpx.ASGITransport(refuses)) as http:
        with pytest.raises(McpError, match="HTTP 404 nothing here"):
            async with connect_http(URL, http):
                pass


async def test_a_cancelled_call_ends_at_once() -> None:
    async with connect_stdio(*SERVER) as server:
        task = asyncio.create_task(server.call("hang", {"number": 1}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

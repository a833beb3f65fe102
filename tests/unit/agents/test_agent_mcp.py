"""Tools of MCP servers, over stdio and over Streamable HTTP, and what happens when a server dies."""

import asyncio
import gzip
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
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


async def test_a_server_that_stops_reading_holds_nobody_up() -> None:
    """Its pipe is full, so that the package cannot write the question, nor that nobody waits for an answer any more."""
    async with connect_stdio(*SERVER) as server:
        server._timeout_s = 0.2
        with pytest.raises(McpError, match="no answer"):
            await server.call("hang", {"number": 1})
        began = asyncio.get_running_loop().time()
        with pytest.raises(McpError, match=r"no answer within 0\.2 s"):
            await server.call("find", {"number": 1, "note": "x" * 1_000_000})
        assert asyncio.get_running_loop().time() - began < 3  # the package alone would take five seconds more


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ('{"protocolVersion": "2025-03-26"}', r"capabilities: Field required; serverInfo: Field required"),
        ('{"protocolVersion": "1999-01-01", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}', "1999"),
    ],
)
async def test_a_server_that_answers_nonsense_says_what_is_wrong_with_it(says: str, reason: str) -> None:
    program = f"""
import sys
sys.stdin.readline()
sys.stdout.buffer.write(b'\\xff\\xfe is no text\\n[]\\n')
print('{{"jsonrpc": "2.0", "id": 1, "result": {says}}}', flush=True)
sys.stdin.readline()
"""
    with pytest.raises(McpError, match=f"initialize: the answer makes no sense: .*{reason}"):
        async with connect_stdio(sys.executable, "-c", program):
            pass


async def test_a_program_that_does_not_exist_is_named() -> None:
    with pytest.raises(McpError, match="no-such-program"):
        async with connect_stdio("no-such-program"):
            pass


async def test_a_session_leaves_neither_process_nor_task_behind() -> None:
    """Not even where one task opens it and another closes it, nor where a call is under way."""
    connection = connect_stdio(*SERVER)
    server = await asyncio.create_task(connection.__aenter__())
    pid = int(await server.call("pid", {"number": 1}))
    call = asyncio.create_task(server.call("hang", {"number": 1}))
    await asyncio.sleep(0)
    await asyncio.create_task(connection.__aexit__(None, None, None))

    with pytest.raises(McpError, match="ended"):
        await call
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


class Flaky(httpx.AsyncBaseTransport):
    """The server, but the next of its answers can be lost or be something else."""

    def __init__(self) -> None:
        self.server = httpx.ASGITransport(app)
        self.seen: list[httpx.Headers] = []
        self.next: httpx.Response | Exception | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request.headers)
        if not self.next or b"tools/call" not in await request.aread():
            return await self.server.handle_async_request(request)
        answer, self.next = self.next, None
        if isinstance(answer, Exception):
            raise answer
        return answer


async def cut() -> AsyncIterator[bytes]:
    yield b"event: message\ndata: {"
    raise httpx.ReadError("connection reset")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (httpx.ConnectError("refused"), f"MCP server at {URL}: ConnectError refused"),
        (httpx.Response(503, text="busy"), f"MCP server at {URL}: HTTP 503 busy"),
        (httpx.Response(400, json={"jsonrpc": "2.0", "id": None, "error": {"code": -32602, "message": "bad"}}), "bad"),
        (httpx.Response(200, headers={"content-type": "application/json"}, text="<html>"), "parse JSON"),
        (httpx.Response(200, text="hello"), "content type: text/plain"),
        (httpx.Response(200, headers={"content-type": "text/event-stream"}, content=cut()), "ended without a response"),
    ],
)
async def test_a_request_that_fails_is_told_and_the_session_goes_on(
    answer: httpx.Response | Exception, reason: str
) -> None:
    flaky = Flaky()
    async with (
        httpx.AsyncClient(transport=flaky, headers={"User-Agent": "shop/1"}) as http,
        connect_http(URL, http, headers={"Authorization": "Bearer k"}) as server,
    ):
        flaky.next = answer
        with pytest.raises(McpError, match=f"tools/call: .*{reason}"):
            await server.call("find", {"number": 1})
        assert (await server.call("find", {"number": 2})).startswith("order 2")

    assert {headers["user-agent"] for headers in flaky.seen} == {"shop/1"}  # all by the caller's own client
    assert {headers["authorization"] for headers in flaky.seen} == {"Bearer k"}


def long_answer(as_events: bool) -> httpx.Response:
    """Two megabytes, compressed, to the fourth request: it comes after initialising and a listing of two pages."""
    result = {"content": [{"type": "text", "text": "x" * 2_000_000}]}
    body = json.dumps({"jsonrpc": "2.0", "id": 4, "result": result})
    kind, body = ("text/event-stream", f"data: {body}\n\n") if as_events else ("application/json", body)
    headers = {"content-type": kind, "content-encoding": "gzip"}
    return httpx.Response(200, headers=headers, stream=httpx.ByteStream(gzip.compress(body.encode())))


@pytest.mark.parametrize("as_events", [False, True])
async def test_a_long_compressed_answer_comes_whole(as_events: bool) -> None:
    flaky = Flaky()
    async with httpx.AsyncClient(transport=flaky) as http, connect_http(URL, http) as server:
        await server.tools()
        flaky.next = long_answer(as_events)
        assert await server.call("find", {"number": 1}) == "x" * 2_000_000


def test_without_the_package_the_error_names_what_to_install() -> None:
    code = "import sys; sys.modules['mcp'] = None; import agents.mcp"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "agents.mcp needs the `mcp` package, the extra `mcp` of Sixstage: pip install" in told.stderr

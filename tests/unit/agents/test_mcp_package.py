"""Tools of servers made with the official `mcp` package, over both transports."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from agents.engine import Reply, call
from agents.errors import McpError
from agents.mcp import McpClient, connect_http, connect_stdio
from tests.ports import free_ports
from tests.unit.agents.conftest import TLS
from tests.unit.agents.rig import Rig, bodies
from tests.unit.agents.test_agent_faults import assert_complete

SERVER = (sys.executable, str(Path(__file__).with_name("mcp_package_server.py")))
WAYS = ["stdio", "http", "http json", "http stateless"]


@asynccontextmanager
async def connected(way: str) -> AsyncIterator[McpClient]:
    transport, *how = way.split()
    if transport == "stdio":
        async with connect_stdio(*SERVER) as server:
            yield server
        return
    port = int(free_ports()["SIXSTAGE_PORT"])
    process = await asyncio.create_subprocess_exec(*SERVER, str(port), *how)
    try:
        async with httpx.AsyncClient(trust_env=False, verify=TLS) as http:
            await listening(port, process)
            async with connect_http(f"http://127.0.0.1:{port}/mcp", http) as server:
                yield server
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


async def listening(port: int, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(60):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return
    raise AssertionError(f"the server ended with {process.returncode}")


@pytest.mark.parametrize("way", WAYS)
async def test_an_agent_uses_its_tools_and_the_trace_goes_along(rig: Rig, way: str) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("find", number=7), call("fail", number=8)]), Reply("Found."))

    async with connected(way) as server:
        result = await rig.agent(*await server.tools()).run("Go.")

    found, failed = bodies(result.messages)
    told = rig.told()
    spans = {span.attributes["gen_ai.tool.name"]: span for span in told.of("execute_tool")}
    assert found.startswith(f"order 7, 00-{spans['find'].trace_id}-{spans['find'].span_id}-")
    assert "fail" in failed
    assert failed.startswith("Error: ")
    assert spans["find"].attributes["network.transport"] == ("pipe" if way == "stdio" else "tcp")
    assert spans["fail"].attributes["error.type"] == "mcp_error"
    assert_complete(told.spans)


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_a_server_that_dies_in_a_call_fails_the_tool_and_not_the_run(rig: Rig, way: str) -> None:
    rig.playbook.plan("Go.", Reply(calls=[call("die", number=7)]), Reply(calls=[call("find", number=7)]), Reply("No."))

    async with connected(way) as server:
        result = await rig.agent(*await server.tools()).run("Go.")

    assert result.text == "No."
    assert all(body.startswith("Error: ") for body in bodies(result.messages))
    told = rig.told()
    assert [span.attributes["error.type"] for span in told.of("execute_tool")] == ["mcp_error"] * 2
    assert_complete(told.spans)


@pytest.mark.parametrize("way", ["stdio", "http"])
async def test_a_tool_that_hangs_is_given_up_and_the_session_goes_on(way: str) -> None:
    async with connected(way) as server:
        server._timeout_s = 0.5
        with pytest.raises(McpError, match=r"no answer within 0\.5 s"):
            await server.call("hang", {"number": 1})
        server._timeout_s = 30
        assert await server.call("find", {"number": 2}) == "order 2, None"

"""An MCP server that is a child process: a line of JSON for each message, both ways."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from agents.errors import McpError
from agents.mcp.client import Json, McpClient

MAX_LINE = 16 * 1024 * 1024
ENDS_WITHIN_S = 3.0


@asynccontextmanager
async def connect_stdio(
    *command: str, environment: dict[str, str] | None = None, timeout_s: float = 30.0
) -> AsyncIterator[McpClient]:
    """Start ``command`` and speak with it for the length of the block. Its stderr is this process's."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env=environment,
        limit=MAX_LINE,
    )
    pipes = _Pipes(process)
    listening = asyncio.create_task(pipes.listen())
    try:
        client = McpClient(pipes, timeout_s=timeout_s)
        await client.start()
        yield client
    finally:
        await _end(process)
        await listening


async def _end(process: asyncio.subprocess.Process) -> None:
    """As the protocol asks: close its input, then ask it to end, then end it."""
    assert process.stdin is not None
    process.stdin.close()
    for firmly in (None, process.terminate, process.kill):
        if firmly:
            with suppress(ProcessLookupError):
                firmly()
        with suppress(TimeoutError):
            async with asyncio.timeout(ENDS_WITHIN_S):
                await process.wait()
                return


class _Pipes:
    name = "pipe"

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._open: dict[Any, asyncio.Future[Json]] = {}
        self._gone = False

    def agreed(self, protocol: str) -> None:
        """Nothing depends on it here."""

    async def request(self, message: Json) -> Json:
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._open[message["id"]] = answer
        try:
            await self.notify(message)
            return await answer
        finally:
            self._open.pop(message["id"], None)

    async def notify(self, message: Json) -> None:
        if self._gone:
            raise McpError("the MCP server has ended")
        try:
            self._in.write(json.dumps(message).encode() + b"\n")
            await self._in.drain()
        except (ConnectionError, RuntimeError) as error:
            raise McpError("the MCP server has ended") from error

    async def listen(self) -> None:
        """Until the server ends; whoever still waits then is told."""
        try:
            while line := await self._out.readline():
                with suppress(ValueError):  # a print that went astray
                    await self._take(json.loads(line))
        except (ConnectionError, ValueError):  # a line without end
            pass
        finally:
            self._gone = True
            for answer in self._open.values():
                if not answer.done():
                    answer.set_exception(McpError("the MCP server ended in the middle of a request"))

    async def _take(self, message: Any) -> None:
        if not isinstance(message, dict):
            return
        if "method" in message:
            if "id" in message:
                with suppress(McpError):
                    await self.notify(answer_to(message))
            return
        answer = self._open.get(message.get("id"))
        if answer and not answer.done():
            answer.set_result(message)


def answer_to(message: Json) -> Json:
    """A server may ask whether we are there; nothing else that it could ask for is offered."""
    told: Json = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "ping":
        return told | {"result": {}}
    return told | {"error": {"code": -32601, "message": f"{message['method']} is not offered"}}

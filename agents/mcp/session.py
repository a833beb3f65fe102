"""A session of the `mcp` package for the length of a block, in a task of its own.

The package's task groups cancel the task that entered them when a connection breaks, and must be left by that same
task. Neither suits an agent, which is to be told of a dead server as of any tool's error, and which may open a
session in one task and close it in another.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import ClientSession
from mcp.client import Transport
from mcp_types import Implementation

from agents.errors import McpError
from agents.mcp.client import McpClient
from agents.mcp.dispatcher import Dispatcher

NAME = Implementation(name="sixstage-agents", version="1")


@asynccontextmanager
async def opened(transport: Transport, where: str, kind: str, timeout_s: float) -> AsyncIterator[McpClient]:
    """``where`` names the server in an error; ``kind`` is what ``network.transport`` has."""
    ready, over = asyncio.Event(), asyncio.Event()
    clients: list[McpClient] = []

    async def live() -> None:
        try:
            async with transport as streams:
                dispatcher = Dispatcher(*streams)
                async with ClientSession(dispatcher=dispatcher, client_info=NAME) as session:
                    clients.append(McpClient(session, dispatcher, kind, timeout_s=timeout_s))
                    ready.set()
                    await over.wait()
        finally:
            ready.set()

    life = asyncio.create_task(live())
    life.add_done_callback(_heard)
    try:
        await ready.wait()
        if not clients:
            await asyncio.wait([life])
            raise McpError(f"{where}: {life.exception()}") from life.exception()
        await clients[0].start()
        yield clients[0]
    finally:
        over.set()
        # Soon: the package closes the pipe, then asks the process to end, then ends it; and no request outlives that.
        await asyncio.wait([life])
        for client in clients:
            await client.ended()


def _heard(life: asyncio.Task[None]) -> None:
    """A connection that broke was told by the calls on it; asyncio need not complain once more."""
    if not life.cancelled():
        life.exception()

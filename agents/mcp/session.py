"""A session of the `mcp` package for the length of a block, in a task of its own.

The package's task groups cancel the task that entered them when a connection breaks, and must be left by that same
task. Neither suits an agent, which is to be told of a dead server as of any tool's error, and which may open a
session in one task and close it in another.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp import ClientSession
from mcp.client import Transport
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import Implementation
from opentelemetry import trace

from agents.errors import McpError

NAME = Implementation(name="sixstage-agents", version="1")


class Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Knows when its connection is over, and tells the span around of a call's request number."""

    over = False
    _number = 0

    async def run(self, *handlers: Any, **given: Any) -> None:
        try:
            await super().run(*handlers, **given)
        finally:
            self.over = True

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **given: Any
    ) -> dict[str, Any]:
        self._number += 1
        if method == "tools/call":
            trace.get_current_span().set_attribute("jsonrpc.request.id", str(self._number))
        numbered: CallOptions = {**(opts or {}), "request_id": self._number}
        return await super().send_raw_request(method, params, numbered, **given)


@asynccontextmanager
async def opened(transport: Transport, where: str) -> AsyncIterator[tuple[ClientSession, Dispatcher]]:
    """A session over ``transport``, not yet initialised. ``where`` names the server in an error."""
    over = asyncio.Event()
    ready: asyncio.Future[tuple[ClientSession, Dispatcher]] = asyncio.get_running_loop().create_future()

    async def live() -> None:
        async with transport as streams:
            dispatcher = Dispatcher(*streams)
            async with ClientSession(dispatcher=dispatcher, client_info=NAME) as session:
                if not ready.done():
                    ready.set_result((session, dispatcher))
                await over.wait()

    life = asyncio.create_task(live())
    life.add_done_callback(_heard)
    try:
        await asyncio.wait([life, ready], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            raise McpError(f"{where}: {life.exception()}") from life.exception()
        yield ready.result()
    finally:
        ready.cancel()
        over.set()
        await asyncio.wait([life])  # soon: the package closes the pipe, then asks the process to end, then ends it


def _heard(life: asyncio.Task[None]) -> None:
    """A connection that broke was told by the calls on it; asyncio need not complain once more."""
    if not life.cancelled():
        life.exception()

"""A server's tools as an agent takes them, and whatever goes wrong with a server as `McpError`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar

from mcp import ClientSession, MCPError
from mcp_types import CONNECTION_CLOSED, PaginatedRequestParams, TextContent
from mcp_types import Tool as ToldTool
from opentelemetry import trace
from pydantic import ValidationError

from agents.errors import McpError
from agents.mcp.dispatcher import Dispatcher
from agents.telemetry import trace_context
from agents.tools import Tool

Json = dict[str, Any]
_T = TypeVar("_T")
LONGEST_REASON = 300
"""Characters of an error; a validation error is pages long, and a model has to read it."""


class McpClient:
    """One session with a server. Made by `connect_stdio` or `connect_http`, which also end it."""

    def __init__(self, session: ClientSession, dispatcher: Dispatcher, transport: str, *, timeout_s: float) -> None:
        """``transport`` as ``network.transport`` has it."""
        self._session, self._dispatcher = session, dispatcher
        self._transport, self._timeout_s = transport, timeout_s
        self._given_up: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await self._ask("initialize", self._session.initialize)

    async def tools(self) -> list[Tool]:
        """All tools of the server, to be given to an agent as they are."""
        found: list[Tool] = []
        page: PaginatedRequestParams | None = None
        while True:
            told = await self._ask("tools/list", partial(self._session.list_tools, params=page))
            found += [self._tool(each) for each in told.tools]
            if not told.next_cursor:
                return found
            page = PaginatedRequestParams(cursor=told.next_cursor)

    async def call(self, name: str, arguments: Json) -> str:
        """The result as text; `McpError` where the server calls it an error.

        Its facts go on the ``execute_tool`` span around, as the conventions ask, and that span's context goes along.
        """
        trace.get_current_span().set_attributes(
            {
                "mcp.method.name": "tools/call",
                "mcp.protocol.version": self._session.protocol_version or "",
                "network.transport": self._transport,
            }
        )
        meta: Any = trace_context() or None
        told = await self._ask("tools/call", partial(self._session.call_tool, name, arguments, meta=meta))
        # Pictures and sounds are not for a text model.
        text = "\n".join(part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in told.content)
        if told.is_error:
            raise McpError(text or f"{name} failed and did not say why")
        return text

    def _tool(self, told: ToldTool) -> Tool:
        async def run(**arguments: Any) -> str:
            return await self.call(told.name, arguments)

        return Tool(told.name, told.description or "", run, told.input_schema, checked=False)

    async def ended(self) -> None:
        """When the last request that was given up has gone."""
        if self._given_up:
            await asyncio.wait(self._given_up)

    async def _ask(self, method: str, question: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        if self._dispatcher.over:
            raise McpError("the MCP server has ended")
        asking = asyncio.create_task(question())
        try:
            # Not the package's own limit, which begins only when the question is written, and a full pipe prevents it.
            await asyncio.wait([asking], timeout=self._timeout_s)
        finally:
            if not asking.done():
                self._give_up(asking)
        if asking in self._given_up:
            raise McpError(f"{method}: no answer within {self._timeout_s:g} s")
        try:
            return asking.result()
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and self._transport == "pipe":
                raise McpError("the MCP server ended in the middle of a request") from error
            raise McpError(f"{method}: {_short(error)}") from error
        except (RuntimeError, ValueError) as error:  # the package's, of an answer that breaks the protocol or a schema
            raise McpError(f"{method}: the answer makes no sense: {_short(error)}") from error

    def _give_up(self, asking: asyncio.Task[Any]) -> None:
        """The package now tells the server. It allows itself five seconds, for which nobody needs to wait here."""
        self._given_up.add(asking)
        asking.add_done_callback(self._gone)
        asking.cancel()

    def _gone(self, asking: asyncio.Task[Any]) -> None:
        self._given_up.discard(asking)
        if not asking.cancelled():
            asking.exception()  # of no interest any more; asked for, so that asyncio does not complain


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)[:LONGEST_REASON]
    return " ".join(str(error).split())[:LONGEST_REASON]

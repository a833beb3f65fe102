"""A server's tools as an agent takes them, and whatever goes wrong with a server as `McpError`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp import ClientSession, MCPError
from mcp_types import CONNECTION_CLOSED, PaginatedRequestParams, TextContent
from mcp_types import Tool as ToldTool
from opentelemetry import trace
from pydantic import ValidationError

from agents.errors import McpError
from agents.mcp.session import Dispatcher
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

    async def start(self) -> None:
        await self._ask("initialize", self._session.initialize)

    async def tools(self) -> list[Tool]:
        """All tools of the server, to be given to an agent as they are."""
        found: list[Tool] = []
        params: PaginatedRequestParams | None = None
        while True:
            page = params
            told = await self._ask("tools/list", lambda page=page: self._session.list_tools(params=page))
            found += [self._tool(each) for each in told.tools]
            if not told.next_cursor:
                return found
            params = PaginatedRequestParams(cursor=told.next_cursor)

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
        told = await self._ask("tools/call", lambda: self._session.call_tool(name, arguments, meta=meta))
        # Pictures and sounds are not for a text model.
        text = "\n".join(part.text if isinstance(part, TextContent) else f"[{part.type}]" for part in told.content)
        if told.is_error:
            raise McpError(text or f"{name} failed and did not say why")
        return text

    def _tool(self, told: ToldTool) -> Tool:
        async def run(**arguments: Any) -> str:
            return await self.call(told.name, arguments)

        return Tool(told.name, told.description or "", run, told.input_schema, checked=False)

    async def _ask(self, method: str, question: Callable[[], Awaitable[_T]]) -> _T:
        if self._dispatcher.over:
            raise McpError("the MCP server has ended")
        try:
            # The package's own limit begins only when the question has been written, which a full pipe can prevent.
            async with asyncio.timeout(self._timeout_s):
                return await question()
        except TimeoutError as error:
            raise McpError(f"{method}: no answer within {self._timeout_s:g} s") from error
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and self._transport == "pipe":
                raise McpError("the MCP server ended in the middle of a request") from error
            raise McpError(f"{method}: {_short(error)}") from error
        except (RuntimeError, ValueError) as error:  # the package's, of an answer that breaks the protocol or a schema
            raise McpError(f"{method}: the answer makes no sense: {_short(error)}") from error


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in wrong)[:LONGEST_REASON]
    return " ".join(str(error).split())[:LONGEST_REASON]

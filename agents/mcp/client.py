"""What is said to an MCP server, whatever carries it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from opentelemetry import trace

from agents.errors import McpError
from agents.telemetry import trace_context
from agents.tools import Tool

Json = dict[str, Any]
PROTOCOL = "2025-06-18"
"""What we ask for; a server that speaks an older one says so, and we take its word."""


class Transport(Protocol):
    """Carries messages. ``request`` gives the answer's whole message, or raises `McpError`."""

    name: str
    """As ``network.transport`` has it."""

    async def request(self, message: Json) -> Json: ...

    async def notify(self, message: Json) -> None: ...

    def agreed(self, protocol: str) -> None:
        """The version that both speak."""


class McpClient:
    """One session with a server. Made by `connect_stdio` or `connect_http`, which also end it."""

    def __init__(self, transport: Transport, *, timeout_s: float = 30.0) -> None:
        self._transport, self._timeout_s = transport, timeout_s
        self._numbers = itertools.count(1)
        self.protocol = PROTOCOL

    async def start(self) -> None:
        told = await self._ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "sixstage-agents", "version": "1"},
            },
        )
        self.protocol = str(told.get("protocolVersion") or PROTOCOL)
        self._transport.agreed(self.protocol)
        await self._transport.notify({"jsonrpc": "2.0", "method": "notifications/initialized"})

    async def tools(self) -> list[Tool]:
        """All tools of the server, to be given to an agent as they are."""
        found: list[Tool] = []
        cursor: str | None = None
        while True:
            told = await self._ask("tools/list", {"cursor": cursor} if cursor else {})
            found += [self._tool(each) for each in told.get("tools") or ()]
            cursor = told.get("nextCursor")
            if not cursor:
                return found

    async def call(self, name: str, arguments: Json) -> str:
        """The result as text; `McpError` where the server calls it an error.

        Its facts go on the ``execute_tool`` span around, as the conventions ask, and that span's context goes along.
        """
        span = trace.get_current_span()
        span.set_attributes(
            {
                "mcp.method.name": "tools/call",
                "mcp.protocol.version": self.protocol,
                "network.transport": self._transport.name,
            }
        )
        params: Json = {"name": name, "arguments": arguments}
        if meta := trace_context():
            params["_meta"] = meta
        told = await self._ask(
            "tools/call", params, note=lambda number: span.set_attribute("jsonrpc.request.id", number)
        )
        text = "\n".join(_text(each) for each in told.get("content") or ())
        if told.get("isError"):
            raise McpError(text or f"{name} failed and did not say why")
        return text

    def _tool(self, told: Json) -> Tool:
        name = str(told["name"])

        async def run(**arguments: Any) -> str:
            return await self.call(name, arguments)

        schema = told.get("inputSchema") or {"type": "object", "properties": {}}
        return Tool(name, str(told.get("description") or ""), run, schema, checked=False)

    async def _ask(self, method: str, params: Json, note: Callable[[str], object] | None = None) -> Json:
        number = next(self._numbers)
        if note:
            note(str(number))
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._transport.request(message)
        except TimeoutError as error:
            await self._give_up(number, "timeout")
            raise McpError(f"{method}: no answer within {self._timeout_s:g} s") from error
        except asyncio.CancelledError:
            await self._give_up(number, "cancelled")
            raise
        if wrong := answer.get("error"):
            raise McpError(f"{method}: {wrong.get('message', wrong)}")
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    async def _give_up(self, number: int, reason: str) -> None:
        """Tell the server that nobody waits any more; a server that cannot be told is no further trouble."""
        params = {"requestId": number, "reason": reason}
        await _quietly(
            self._transport.notify({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        )


async def _quietly(telling: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(1):
            await telling
    except (McpError, TimeoutError):
        pass


def _text(part: Json) -> str:
    if part.get("type") == "text":
        return str(part.get("text") or "")
    return f"[{part.get('type', 'unknown')}]"  # pictures and sounds are not for a text model

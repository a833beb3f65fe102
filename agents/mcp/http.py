"""An MCP server behind a URL, by Streamable HTTP: a POST for each message, answered by JSON or by events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import httpx

from agents.errors import McpError
from agents.mcp.client import Json, McpClient
from agents.mcp.stdio import answer_to


@asynccontextmanager
async def connect_http(
    url: str, http: httpx.AsyncClient, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0
) -> AsyncIterator[McpClient]:
    """A session with the server at ``url`` for the length of the block. Pass one ``http`` client to all."""
    posts = _Posts(url, http, dict(headers or {}))
    client = McpClient(posts, timeout_s=timeout_s)
    await client.start()
    try:
        yield client
    finally:
        await posts.end()


class _Posts:
    name = "tcp"

    def __init__(self, url: str, http: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self._url, self._http = url, http
        self._headers = headers | {"Accept": "application/json, text/event-stream"}
        self._session = False

    def agreed(self, protocol: str) -> None:
        self._headers["MCP-Protocol-Version"] = protocol

    async def request(self, message: Json) -> Json:
        try:
            async with self._http.stream("POST", self._url, json=message, headers=self._headers) as response:
                await self._check(response)
                if session := response.headers.get("mcp-session-id"):
                    self._headers["Mcp-Session-Id"], self._session = session, True
                if "text/event-stream" in response.headers.get("content-type", ""):
                    return await self._from_events(response, message["id"])
                answer = json.loads(await response.aread())
        except (httpx.HTTPError, ValueError) as error:
            raise McpError(f"MCP server at {self._url}: {type(error).__name__} {error}".rstrip()) from error
        if not isinstance(answer, dict):
            raise McpError(f"MCP server at {self._url}: the answer is no object")
        return answer

    async def notify(self, message: Json) -> None:
        try:
            response = await self._http.post(self._url, json=message, headers=self._headers)
            await self._check(response)
        except httpx.HTTPError as error:
            raise McpError(f"MCP server at {self._url}: {type(error).__name__} {error}".rstrip()) from error

    async def end(self) -> None:
        """Tell the server that the session is over; one that keeps none, or is gone, needs no telling."""
        if self._session:
            with suppress(httpx.HTTPError):
                await self._http.delete(self._url, headers=self._headers, timeout=2)

    async def _from_events(self, response: httpx.Response, number: int) -> Json:
        data: list[str] = []
        async for line in response.aiter_lines():
            if line.startswith("data:"):
                data.append(line[5:].removeprefix(" "))
            elif not line and data:
                message = json.loads("\n".join(data))
                data.clear()
                if not isinstance(message, dict):
                    continue
                if message.get("id") == number and "method" not in message:
                    return message
                if "method" in message and "id" in message:
                    await self.notify(answer_to(message))
        raise McpError(f"MCP server at {self._url}: the stream ended before the answer")

    async def _check(self, response: httpx.Response) -> None:
        if response.is_error:
            await response.aread()
            raise McpError(f"MCP server at {self._url}: HTTP {response.status_code} {response.text[:200]}".rstrip())

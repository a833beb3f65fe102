"""An MCP server behind a URL, by Streamable HTTP, reached by the caller's own HTTP client.

The package has httpx2 for its client. Its requests go through the caller's httpx, so that there is one pool, one set of
certificates, proxies and logins, and one client to look at. What fails on the way comes back as an answer that says
so: an exception would end the package's session, where the next request may do well.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import httpx
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from agents.mcp.client import McpClient
from agents.mcp.session import opened

THE_CLIENTS_OWN = {"host", "user-agent", "accept-encoding", "connection", "content-length"}
UNTRUE_WHEN_DECODED = {"content-encoding", "content-length", "transfer-encoding"}
GOODBYE_S = 2.0
LONGEST_EVENT = 16 * 1024 * 1024
"""Bytes; the package's own limit of one megabyte is less than some tools answer."""
UNREACHABLE = 502


@asynccontextmanager
async def connect_http(
    url: str, http: httpx.AsyncClient, *, headers: Mapping[str, str] | None = None, timeout_s: float = 30.0
) -> AsyncIterator[McpClient]:
    """A session with the server at ``url`` for the length of the block. Pass one ``http`` client to all."""
    through = _Through(url, http, dict(headers or {}))
    # No limit of its own, and no proxy: both are the caller's client's.
    async with httpx2.AsyncClient(transport=through, timeout=None, trust_env=False) as client:
        transport = streamable_http_client(url, http_client=client, max_sse_event_size=LONGEST_EVENT)
        async with opened(transport, f"MCP server at {url}", "tcp", timeout_s) as server:
            yield server


class _Through(httpx2.AsyncBaseTransport):
    def __init__(self, url: str, http: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self._url, self._http, self._headers = url, http, headers

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._carried(request)
        except Exception as error:  # whatever: a login, a proxy, a hook of the caller's client
            return self._failed(UNREACHABLE, f"{type(error).__name__} {error}")

    async def _carried(self, request: httpx2.Request) -> httpx2.Response:
        asked = {name: value for name, value in request.headers.items() if name not in THE_CLIENTS_OWN}
        answer = await self._http.send(
            self._http.build_request(
                request.method,
                str(request.url),
                headers=self._headers | asked,
                content=await request.aread(),
                timeout=GOODBYE_S if request.method == "DELETE" else httpx.USE_CLIENT_DEFAULT,
            ),
            stream=True,
            follow_redirects=False,  # the package follows those that stay with the server
        )
        headers = [pair for pair in answer.headers.multi_items() if pair[0] not in UNTRUE_WHEN_DECODED]
        if "text/event-stream" in answer.headers.get("content-type", "") and not answer.is_error:
            return httpx2.Response(answer.status_code, headers=headers, stream=_Events(answer))
        try:
            body = await answer.aread()
        finally:
            await answer.aclose()
        if answer.is_error and not _tells_an_error(body):
            return self._failed(answer.status_code, f"HTTP {answer.status_code} {answer.text[:200]}")
        return httpx2.Response(answer.status_code, headers=headers, content=body)

    def _failed(self, status: int, why: str) -> httpx2.Response:
        """As a server would say it; the package has words of its own for anything else, without the reason."""
        error = {"code": INTERNAL_ERROR, "message": f"MCP server at {self._url}: {why.rstrip()}"}
        return httpx2.Response(status, json={"jsonrpc": "2.0", "id": None, "error": error})


class _Events(httpx2.AsyncByteStream):
    def __init__(self, answer: httpx.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._answer.aiter_bytes():
            yield part

    async def aclose(self) -> None:
        await self._answer.aclose()


def _tells_an_error(body: bytes) -> bool:
    try:
        told = json.loads(body)
    except ValueError:
        return False
    return isinstance(told, dict) and isinstance(told.get("error"), dict)

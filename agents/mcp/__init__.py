"""Tools of Model Context Protocol servers, over stdio and over Streamable HTTP.

    async with connect_stdio("python", "server.py") as server:
        agent = Agent(tools=await server.tools(), ...)

A small client of its own: the protocol's part that an agent needs (initialise, list, call, ping, cancel) is little,
and the official package would bring 17 others, a second HTTP client and a cryptography library among them.

    client   what is said: JSON-RPC requests, tools, trace context in ``_meta``
    stdio    a server that is a child process, a line of JSON for each message
    http     a server behind a URL: a POST for each message, answered by JSON or by a stream of events
"""

from agents.mcp.client import McpClient
from agents.mcp.http import connect_http
from agents.mcp.stdio import connect_stdio

__all__ = ["McpClient", "connect_http", "connect_stdio"]

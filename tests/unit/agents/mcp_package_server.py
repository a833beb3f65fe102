"""A server made with the `mcp` package: ``python mcp_package_server.py``, or with a port, over Streamable HTTP.

After the port: ``json`` answers without event streams, ``stateless`` keeps no sessions.
"""

from __future__ import annotations

import os
import sys

import anyio
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("orders", log_level="CRITICAL")


@server.tool()
async def find(number: int, ctx: Context) -> str:
    """Find an order; tells what trace context came with the question."""
    return f"order {number}, {(ctx.request_context.meta or {}).get('traceparent')}"


@server.tool()
async def fail(number: int) -> str:
    """Fail."""
    raise LookupError(f"no order {number}")


@server.tool()
async def hang(number: int) -> str:
    """Never answer."""
    await anyio.sleep_forever()
    return "never"


@server.tool()
async def die(number: int) -> str:
    """End the server in the middle of the call."""
    os._exit(3)


if len(sys.argv) > 1:
    port, *how = sys.argv[1:]
    server.run("streamable-http", port=int(port), json_response="json" in how, stateless_http="stateless" in how)
else:
    server.run()

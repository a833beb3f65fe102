"""An MCP server that is a child process."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import StdioServerParameters, stdio_client

from agents.mcp.client import McpClient
from agents.mcp.session import opened


@asynccontextmanager
async def connect_stdio(
    *command: str, environment: dict[str, str] | None = None, timeout_s: float = 30.0
) -> AsyncIterator[McpClient]:
    """Start ``command`` and speak with it for the length of the block. Its stderr is this process's.

    Without ``environment`` it has all of this process's; with one, that and the few names that every program needs.
    """
    started = StdioServerParameters(
        command=command[0],
        args=list(command[1:]),
        env=dict(os.environ) if environment is None else environment,
        encoding_error_handler="replace",  # a line that is no text is a print that went astray, not the end
    )
    # Not sys.stderr, which may be no file: in a notebook, or where a test captures it.
    transport = stdio_client(started, errlog=sys.__stderr__ or sys.stderr)
    async with opened(transport, f"MCP server {command[0]}", "pipe", timeout_s) as client:
        yield client

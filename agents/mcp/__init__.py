"""Tools of Model Context Protocol servers, over stdio and over Streamable HTTP.

    async with connect_stdio("python", "server.py") as server:
        agent = Agent(tools=await server.tools(), ...)

The protocol is spoken by the official `mcp` package, the extra ``mcp``; what is here makes its sessions tools.

    client      a session's tools, as an agent takes them, and the package's errors as ours
    dispatcher  the package's sender of requests, and what a span wants to know of it
    session     a session in a task of its own, so that its end never cancels the agent
    stdio       a server that is a child process
    http        a server behind a URL, reached by the caller's own HTTP client
"""

try:
    import mcp  # noqa: F401 - asked for here, so that who lacks it reads what to do
except ModuleNotFoundError as missing:
    if missing.name != "mcp":
        raise
    raise ModuleNotFoundError(
        "agents.mcp needs the `mcp` package, the extra `mcp` of Sixstage: pip install 'mcp>=2.3,<3'", name="mcp"
    ) from missing

from agents.mcp.client import McpClient
from agents.mcp.http import connect_http
from agents.mcp.stdio import connect_stdio

__all__ = ["McpClient", "connect_http", "connect_stdio"]

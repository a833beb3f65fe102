"""Model Context Protocol spans, client and server side. Only `tools/call` is a tool call."""

from __future__ import annotations

from ingest.semconv.facts import MCP, TOOL, Told
from ingest.semconv.values import tell, text
from ingest.spans import KIND_SERVER, Span

ROWS = (
    ("tool", "gen_ai.tool.name", text),
    ("tool", "mcp.tool.name", text),
    ("tool", "fastmcp.component.key", text),
)


def facts(span: Span) -> Told | None:
    method = span.attributes.get("mcp.method.name")
    if not isinstance(method, str):
        return None
    told = Told(kind=TOOL if method == "tools/call" else MCP)
    told["mcp_side"] = "server" if span.kind == KIND_SERVER else "client"
    tell(told, span.attributes, ROWS)
    if told["kind"] is TOOL and "tool" not in told and " " in span.name:
        # "{method} {target}" is the convention's own span name.
        told["tool"] = span.name.rsplit(" ", 1)[1]
    return told

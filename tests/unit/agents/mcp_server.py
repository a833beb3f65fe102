"""A tiny MCP server for tests, over stdio as a program and over HTTP as an ASGI app. It tells what context it got."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
NAMES = ("find", "fail", "die", "hang", "pid")
TOOLS = [{"name": name, "description": f"{name}.", "inputSchema": SCHEMA} for name in NAMES]


def answered(message: dict[str, Any]) -> dict[str, Any] | None:
    if "id" not in message:
        return None
    told: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            who = {"name": "orders", "version": "1"}
            return told | {"result": {"protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": who}}
        case "tools/list":  # in two pages
            first = not params.get("cursor")
            return told | {
                "result": {"tools": TOOLS[:1] if first else TOOLS[1:], **({"nextCursor": "2"} if first else {})}
            }
        case "tools/call":
            return told | called(params)
    return told | {"error": {"code": -32601, "message": "unknown method"}}


def called(params: dict[str, Any]) -> dict[str, Any]:
    match params["name"]:
        case "die":
            os._exit(3)
        case "hang":
            time.sleep(60)
        case "pid":
            return {"result": {"content": [{"type": "text", "text": str(os.getpid())}]}}
        case "fail":
            return {"result": {"content": [{"type": "text", "text": "no such order"}], "isError": True}}
    told = f"order {params['arguments']['number']}, {(params.get('_meta') or {}).get('traceparent')}"
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    return {"result": {"content": [{"type": "text", "text": told}, picture]}}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers calls by events, with a ping before, and all else by JSON; keeps a session."""
    body, more = b"", scope["method"] == "POST"
    while more:
        event = await receive()
        body, more = body + event.get("body", b""), event.get("more_body", False)
    headers = {name.decode(): value.decode() for name, value in scope["headers"]}
    message = json.loads(body or b"{}")
    method = message.get("method")
    known = method == "initialize" or (headers.get("mcp-session-id"), headers.get("mcp-protocol-version")) == (
        "s1",
        "2025-03-26",
    )
    answer = answered(message) if known and method else None
    status = 400 if not known else 200 if answer else 202
    events = method == "tools/call"
    kind = b"text/event-stream" if events else b"application/json"
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(b"content-type", kind), (b"mcp-session-id", b"s1")],
        }
    )
    text = json.dumps(answer) if answer else ""
    if events:
        ping = json.dumps({"jsonrpc": "2.0", "id": "p", "method": "ping"})
        text = f": hello\n\ndata: {ping}\n\nevent: message\ndata: {text}\n\n"
    await send({"type": "http.response.body", "body": text.encode()})


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    say("a line that is no message")
    for line in sys.stdin:
        if (answer := answered(json.loads(line))) is not None:
            say(json.dumps(answer))

"""The package's sender of requests, which here tells what an agent's span wants to know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from opentelemetry import trace


class Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Knows when its connection is over, and tells the span around of a call's request number."""

    over = False
    _number = 0

    async def run(self, *handlers: Any, **given: Any) -> None:
        try:
            await super().run(*handlers, **given)
        finally:
            self.over = True

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None, **given: Any
    ) -> dict[str, Any]:
        self._number += 1
        if method == "tools/call":
            trace.get_current_span().set_attribute("jsonrpc.request.id", str(self._number))
        numbered: CallOptions = {**(opts or {}), "request_id": self._number}
        return await super().send_raw_request(method, params, numbered, **given)

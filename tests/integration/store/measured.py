"""Calls whose first token is known, and calls whose is not."""

from __future__ import annotations

import time
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.integration.otlp.messages import span
from tests.integration.store.parts import SECOND_NS

MS = 10**6


def measured(model: str = "m", tpot_ms: int = 20, tokens: int = 11, **fields: Any) -> Span:
    """A second's call that streamed: its client saw the first token ``tokens - 1`` times ``tpot_ms`` before the end."""
    return _call(model, tokens, {"gen_ai.response.time_to_first_chunk": 1 - tpot_ms * (tokens - 1) / 1000}, **fields)


def unmeasured(model: str = "m", tokens: int = 11, **fields: Any) -> Span:
    return _call(model, tokens, {}, **fields)


def _call(model: str, tokens: int, told: dict[str, Any], ago_s: int = 0, **fields: Any) -> Span:
    end_ns = time.time_ns() - ago_s * SECOND_NS
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.usage.output_tokens": tokens}
    times = {"start_time_unix_nano": end_ns - SECOND_NS, "end_time_unix_nano": end_ns}
    return span(f"chat {model}", attributes=attributes | told, **times | fields)

"""Open spans, as the context managers of `Telemetry` give them: what was asked, when it came, what came."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from opentelemetry import trace
from opentelemetry.trace import Span, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agents.telemetry import messages as genai


class Content(Protocol):
    """What may be recorded of texts."""

    capture_content: bool
    content_limit: int

    def content(self, text: str) -> str | None: ...


@dataclass(frozen=True)
class Run:
    """An open ``invoke_agent`` span."""

    span: Span
    _telemetry: Content

    def asked(self, messages: Sequence[genai.Message]) -> None:
        if self._telemetry.capture_content:
            limit = self._telemetry.content_limit
            self.span.set_attribute("gen_ai.input.messages", genai.input_messages(messages, limit))

    def answered(self, text: str, finish_reason: str | None = "stop") -> None:
        if self._telemetry.capture_content:
            message = {"role": "assistant", "content": text}
            limit = self._telemetry.content_limit
            self.span.set_attribute("gen_ai.output.messages", genai.output_messages(message, finish_reason, limit))


@dataclass
class Call:
    """An open ``chat`` span. ``started_ns`` is on the monotonic clock."""

    span: Span
    _telemetry: Content
    started_ns: int
    _chunk_seen: bool = False
    token_seen: bool = False

    def headers(self) -> dict[str, str]:
        """W3C trace context for the request, so that the engine's span becomes this one's child."""
        return trace_context(self.span)

    def asked(self, messages: Sequence[genai.Message], **parameters: Any) -> None:
        """What is sent; ``parameters`` become ``gen_ai.request.*``."""
        named = {f"gen_ai.request.{key}": value for key, value in parameters.items()}
        self.span.set_attributes(known(named))
        if self._telemetry.capture_content:
            limit = self._telemetry.content_limit
            self.span.set_attributes(
                known(
                    {
                        "gen_ai.system_instructions": genai.system_instructions(messages, limit),
                        "gen_ai.input.messages": genai.input_messages(messages, limit),
                    }
                )
            )

    def chunk(self) -> None:
        """A chunk came. The first one counts, though it is often a role header without any text."""
        if not self._chunk_seen:
            self._chunk_seen = True
            waited_s = (time.perf_counter_ns() - self.started_ns) / 1e9
            self.span.set_attribute("gen_ai.response.time_to_first_chunk", waited_s)

    def token(self) -> None:
        """Text, reasoning or part of a tool call came. The first one is the first output token."""
        if not self.token_seen:
            self.token_seen = True
            self.span.add_event("gen_ai.first_token", timestamp=time.time_ns())

    def answered(
        self,
        message: genai.Message,
        *,
        response_id: str | None = None,
        model: str | None = None,
        finish_reason: str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        cached_tokens: int | None = None,
    ) -> None:
        """What came. ``input_tokens`` includes the cached ones; None means unknown, not zero."""
        attributes = {
            "gen_ai.response.id": response_id,
            "gen_ai.response.model": model,
            "gen_ai.response.finish_reasons": [finish_reason] if finish_reason else None,
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
            "gen_ai.usage.cache_read.input_tokens": cached_tokens,
        }
        if self._telemetry.capture_content:
            limit = self._telemetry.content_limit
            attributes["gen_ai.output.messages"] = genai.output_messages(message, finish_reason, limit)
        self.span.set_attributes(known(attributes))


@dataclass(frozen=True)
class ToolRun:
    """An open ``execute_tool`` span."""

    span: Span
    _telemetry: Content

    def meta(self) -> dict[str, str]:
        """W3C trace context for ``params._meta`` of an MCP request, so that the server's span joins."""
        return trace_context(self.span)

    def answered(self, result: str) -> None:
        self.span.set_attributes(known({"gen_ai.tool.call.result": self._telemetry.content(result)}))


def trace_context(span: Span | None = None) -> dict[str, str]:
    """``traceparent`` and ``tracestate`` of a span, or of the one that is open here."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(span) if span else None)
    return carrier


def fail(span: Span, error: BaseException) -> None:
    """Mark a span as failed: status, ``error.type``, and the exception as an event."""
    cancelled = isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit))
    # Who cancels a task may say why: `agents.techniques.bounded_tools` does, for one that took too long.
    why = str(error.args[0]) if isinstance(error, asyncio.CancelledError) and error.args else "cancelled"
    kind = why if cancelled else getattr(error, "error_type", type(error).__qualname__)
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR, why if cancelled else str(error)[:500])
    if not cancelled:
        span.record_exception(error)


def known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is known: an absent attribute says so better than an empty one."""
    return {key: value for key, value in attributes.items() if value is not None and value != ""}

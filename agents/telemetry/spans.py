"""Context managers, one for each span of an agent run.

run    |--------------------------------------------|   invoke_agent
call   |----*-----------|                               chat            * gen_ai.first_token
parse                   |-|                             sixstage.stage = tool_parsing
tools                     |--------|                    execute_tool
call                                |----*----------|   chat
"""

from __future__ import annotations

import asyncio
import atexit
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agents.telemetry import messages as genai
from agents.telemetry.export import Batches, Outage, SpanSender, traces_url

SCOPE = "sixstage.agents"
DEFAULT_ENDPOINT = "http://127.0.0.1:4318"

# The conversation of the run around us: every span inside it carries the id, as the conventions ask.
_conversation: ContextVar[str | None] = ContextVar("conversation", default=None)


class Telemetry:
    """One agent's way to tell what it does. Close it, or use it as a context manager, to flush."""

    def __init__(
        self,
        service: str,
        *,
        version: str = "",
        environment: str = "",
        endpoint: str = DEFAULT_ENDPOINT,
        headers: Mapping[str, str] | None = None,
        simulated: bool = False,
        capture_content: bool = False,
        content_limit: int = 4_000,
        every_s: float = 1.0,
        close_s: float = 2.0,
        outage: Outage | None = None,
    ) -> None:
        """Spans go to ``endpoint`` every ``every_s`` seconds; closing waits ``close_s`` at most.

        ``capture_content`` puts messages, tool arguments and results on the spans, each text cut at
        ``content_limit`` characters. They are your users' words: off unless asked for, as by convention.
        """
        url = traces_url(endpoint)
        self.capture_content, self.content_limit = capture_content, content_limit
        self._provider = TracerProvider(
            resource=_resource(service, version, environment, simulated), shutdown_on_exit=False
        )
        sender = SpanSender(url, headers or {}, outage or Outage(url))
        self._provider.add_span_processor(Batches(sender, every_s=every_s, close_s=close_s))
        self._tracer = self._provider.get_tracer(SCOPE)
        self._closed = False
        atexit.register(self.close)

    def __enter__(self) -> Telemetry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Send what is left and stop. Spans that end later are dropped. Blocks for ``close_s`` at most."""
        if not self._closed:
            self._closed = True
            atexit.unregister(self.close)
            self._provider.shutdown()

    def tracer(self, scope: str) -> trace.Tracer:
        """A plain OpenTelemetry tracer with this resource and exporter, for spans of your own."""
        return self._provider.get_tracer(scope)

    @contextmanager
    def agent(
        self, name: str, *, conversation_id: str | None = None, user_id: str | None = None, version: str = ""
    ) -> Iterator[Run]:
        """A run of an agent. Inside another run it is a sub-agent's, of the same conversation."""
        conversation = conversation_id or _conversation.get()
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": name,
            "gen_ai.agent.version": version,
            "gen_ai.conversation.id": conversation,
            "user.id": user_id,
        }
        token = _conversation.set(conversation)
        try:
            with self._span(f"invoke_agent {name}", SpanKind.INTERNAL, attributes) as span:
                yield Run(span, self)
        finally:
            _conversation.reset(token)

    @contextmanager
    def chat(self, model: str, *, provider: str, url: str = "", stream: bool = True) -> Iterator[Call]:
        """One call to a model, from just before the request to its last byte."""
        parts = urlsplit(url)
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.request.stream": True if stream else None,  # by convention unset means "no"
            "gen_ai.conversation.id": _conversation.get(),
            "server.address": parts.hostname,
            "server.port": parts.port or {"http": 80, "https": 443}.get(parts.scheme),
        }
        with self._span(f"chat {model}", SpanKind.CLIENT, attributes) as span:
            yield Call(span, self, time.perf_counter_ns())

    @contextmanager
    def tool_parsing(self) -> Iterator[Span]:
        """From the model's last token to the first tool: parsing, validation, approval, dispatch."""
        with self._span("parse tool calls", SpanKind.INTERNAL, {"sixstage.stage": "tool_parsing"}) as span:
            yield span

    @contextmanager
    def tool(self, name: str, *, call_id: str | None = None, arguments: str = "") -> Iterator[ToolRun]:
        """One execution of a tool that the model asked for by ``call_id``."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": self.content(arguments),
            "gen_ai.conversation.id": _conversation.get(),
        }
        with self._span(f"execute_tool {name}", SpanKind.INTERNAL, attributes) as span:
            yield ToolRun(span, self)

    def content(self, text: str) -> str | None:
        """``text`` as it may be recorded: cut, or None where content is not captured."""
        return genai.cut(text, self.content_limit) if self.capture_content and text else None

    @contextmanager
    def _span(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Iterator[Span]:
        span = self._tracer.start_span(name, kind=kind, attributes=_known(attributes))
        with trace.use_span(span, True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as error:  # a cancelled task must leave a finished span too
                fail(span, error)
                raise


@dataclass(frozen=True)
class Run:
    """An open ``invoke_agent`` span."""

    span: Span
    _telemetry: Telemetry

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
    _telemetry: Telemetry
    started_ns: int
    _chunk_seen: bool = False
    _token_seen: bool = False

    def headers(self) -> dict[str, str]:
        """W3C trace context for the request, so that the engine's span becomes this one's child."""
        carrier: dict[str, str] = {}
        TraceContextTextMapPropagator().inject(carrier, trace.set_span_in_context(self.span))
        return carrier

    def asked(self, messages: Sequence[genai.Message], **parameters: Any) -> None:
        """What is sent; ``parameters`` become ``gen_ai.request.*``."""
        named = {f"gen_ai.request.{key}": value for key, value in parameters.items()}
        self.span.set_attributes(_known(named))
        if self._telemetry.capture_content:
            limit = self._telemetry.content_limit
            self.span.set_attributes(
                _known(
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
        if not self._token_seen:
            self._token_seen = True
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
        self.span.set_attributes(_known(attributes))


@dataclass(frozen=True)
class ToolRun:
    """An open ``execute_tool`` span."""

    span: Span
    _telemetry: Telemetry

    def answered(self, result: str) -> None:
        self.span.set_attributes(_known({"gen_ai.tool.call.result": self._telemetry.content(result)}))


def fail(span: Span, error: BaseException) -> None:
    """Mark a span as failed: status, ``error.type``, and the exception as an event."""
    cancelled = isinstance(error, (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit))
    kind = "cancelled" if cancelled else getattr(error, "error_type", type(error).__qualname__)
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR, "cancelled" if cancelled else str(error)[:500])
    if not cancelled:
        span.record_exception(error)


def _resource(service: str, version: str, environment: str, simulated: bool) -> Resource:
    attributes: dict[str, Any] = {
        "service.name": service,
        "service.version": version or None,
        "deployment.environment.name": environment or None,
        "sixstage.simulated": True if simulated else None,
    }
    return Resource.create(_known(attributes))


def _known(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is known: an absent attribute says so better than an empty one."""
    return {key: value for key, value in attributes.items() if value is not None and value != ""}

"""Context managers, one for each span of an agent run.

run    |--------------------------------------------|   invoke_agent
call   |----*-----------|                               chat            * gen_ai.first_token
parse                   |-|                             sixstage.stage = tool_parsing
tools                     |--------|                    execute_tool
call                                |----*----------|   chat
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span, SpanKind

from agents.telemetry import messages as genai
from agents.telemetry.export import Batches, Outage, SpanSender, traces_url
from agents.telemetry.handles import Call, Run, ToolRun, fail, known

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
        resource: Mapping[str, str] | None = None,
    ) -> None:
        """Spans go to ``endpoint`` every ``every_s`` seconds; closing waits ``close_s`` at most.

        ``capture_content`` puts messages, tool arguments and results on the spans, each text cut at
        ``content_limit`` characters. They are your users' words: off unless asked for, as by convention.
        ``resource`` is more to say of the sender, beside what has an argument of its own.
        """
        url = traces_url(endpoint)
        self.capture_content, self.content_limit = capture_content, content_limit
        self._provider = TracerProvider(
            resource=_resource(service, version, environment, simulated, resource or {}), shutdown_on_exit=False
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
    def chat(
        self, model: str, *, provider: str, url: str = "", stream: bool = True, attempt: int | None = None
    ) -> Iterator[Call]:
        """One call to a model, from just before the request to its last byte.

        A caller that tries again opens one for the call and inside it one for each ``attempt``, from 1.
        """
        parts = urlsplit(url)
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.request.stream": True if stream else None,  # by convention unset means "no"
            "gen_ai.conversation.id": _conversation.get(),
            "server.address": parts.hostname,
            "server.port": parts.port or {"http": 80, "https": 443}.get(parts.scheme),
            "sixstage.attempt": attempt,
        }
        with self._span(f"chat {model}", SpanKind.CLIENT, attributes) as span:
            yield Call(span, self, time.perf_counter_ns())

    @contextmanager
    def tool_parsing(self) -> Iterator[Span]:
        """From the model's last token to the first tool: parsing, validation, approval, dispatch."""
        with self._span("parse tool calls", SpanKind.INTERNAL, {"sixstage.stage": "tool_parsing"}) as span:
            yield span

    @contextmanager
    def tool(
        self,
        name: str,
        *,
        call_id: str | None = None,
        arguments: str = "",
        attempt: int | None = None,
        prefetch: bool = False,
    ) -> Iterator[ToolRun]:
        """One execution of a tool that the model asked for by ``call_id``; ``prefetch``: before it was asked for."""
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": self.content(arguments),
            "sixstage.attempt": attempt,
            "sixstage.tool.prefetch": True if prefetch else None,
            "gen_ai.conversation.id": _conversation.get(),
        }
        with self._span(f"execute_tool {name}", SpanKind.INTERNAL, attributes) as span:
            yield ToolRun(span, self)

    @contextmanager
    def queue(self, name: str) -> Iterator[Span]:
        """Waiting on the client's side, such as for a place in a pool."""
        with self._span(name, SpanKind.INTERNAL, {"sixstage.queue": True}) as span:
            yield span

    @contextmanager
    def plain(self, name: str) -> Iterator[Span]:
        """A step of the agent's own code that is worth seeing."""
        with self._span(name, SpanKind.INTERNAL, {}) as span:
            yield span

    def content(self, text: str) -> str | None:
        """``text`` as it may be recorded: cut, or None where content is not captured."""
        return genai.cut(text, self.content_limit) if self.capture_content and text else None

    @contextmanager
    def _span(self, name: str, kind: SpanKind, attributes: Mapping[str, Any]) -> Iterator[Span]:
        span = self._tracer.start_span(name, kind=kind, attributes=known(attributes))
        with trace.use_span(span, True, record_exception=False, set_status_on_exception=False):
            try:
                yield span
            except BaseException as error:  # a cancelled task must leave a finished span too
                fail(span, error)
                raise


def _resource(service: str, version: str, environment: str, simulated: bool, more: Mapping[str, str]) -> Resource:
    attributes: dict[str, Any] = {
        **more,
        "service.name": service,
        "service.version": version or None,
        "deployment.environment.name": environment or None,
        "sixstage.simulated": True if simulated else None,
    }
    return Resource.create(known(attributes))

"""One call to a model over any OpenAI-compatible ``/v1/chat/completions``, told as a ``chat`` span."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx

from agents.errors import ModelError
from agents.retries import TRANSIENT, Retries
from agents.techniques.inference_pool import USUAL, InferencePool
from agents.telemetry import Call, Telemetry

Message = dict[str, Any]


@dataclass(frozen=True)
class ToolRequest:
    """A tool as the model asked for it; ``arguments`` is the model's own text, not yet parsed."""

    call_id: str
    name: str
    arguments: str


@dataclass
class Answer:
    """What a model call gave. Token counts are None where the endpoint did not tell."""

    text: str = ""
    tool_requests: list[ToolRequest] = field(default_factory=list)
    finish_reason: str | None = None
    response_id: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def message(self) -> Message:
        """As the next request carries it."""
        message: Message = {"role": "assistant", "content": self.text or None}
        if self.tool_requests:
            message["tool_calls"] = [
                {
                    "id": asked.call_id,
                    "type": "function",
                    "function": {"name": asked.name, "arguments": asked.arguments},
                }
                for asked in self.tool_requests
            ]
        return message


@dataclass(frozen=True, kw_only=True)
class ChatModel:
    """A model behind an endpoint. ``base_url`` ends before ``/chat/completions``, as OpenAI's (``…/v1``).

    Pass one ``http`` client to all models: reusing its connections saves a TLS handshake a call. A ``pool`` is shared
    by all that use the same GPU; ``tenant`` and ``priority`` say who asks. A call keeps its place while it is retried.
    """

    name: str
    base_url: str
    http: httpx.AsyncClient
    provider: str = "openai"
    api_key: str = ""
    stream: bool = True
    parameters: dict[str, Any] = field(default_factory=dict)
    retries: Retries | None = None
    pool: InferencePool | None = None
    tenant: str = ""
    priority: int = USUAL

    async def answer(
        self,
        messages: Sequence[Message],
        telemetry: Telemetry,
        *,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str = "auto",
        on_text: Callable[[str], None] | None = None,
    ) -> Answer:
        """Ask, and again where ``retries`` says so. Raises `ModelError` when there is no whole answer.

        What failed after its first token is not asked for again: the user may have seen it.
        """
        body: dict[str, Any] = {"model": self.name, "messages": list(messages), **self.parameters}
        if tools:
            body |= {"tools": list(tools), "tool_choice": tool_choice}
        if self.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        async with self._place(telemetry):
            return await self._asked(body, telemetry, on_text)

    def _place(self, telemetry: Telemetry) -> AbstractAsyncContextManager[Any]:
        if self.pool is None:
            return nullcontext()
        return self.pool.slot(tenant=self.tenant, priority=self.priority, telemetry=telemetry)

    async def _asked(self, body: Message, telemetry: Telemetry, on_text: Callable[[str], None] | None) -> Answer:
        told: dict[str, Any] = {"provider": self.provider, "url": self.base_url, "stream": self.stream}
        if self.retries is None:
            with telemetry.chat(self.name, **told) as call:
                return await self._attempt(body, call, on_text)
        with telemetry.chat(self.name, **told):  # the call; inside it a span for each attempt
            for attempt in itertools.count(1):
                try:
                    with telemetry.chat(self.name, **told, attempt=attempt) as call:
                        return await self._attempt(body, call, on_text)
                except ModelError as error:
                    pause_s = self.retries.pause_s(error, attempt)
                    if pause_s is None or call.token_seen:
                        raise
                await asyncio.sleep(pause_s)
            raise AssertionError("counting has no end")

    async def _attempt(self, body: Message, call: Call, on_text: Callable[[str], None] | None) -> Answer:
        call.asked(body["messages"], **_recorded(self.parameters))
        try:
            if self.stream:
                answer = await self._streamed(body, call, on_text)
            else:
                answer = await self._whole(body, call)
        except httpx.HTTPError as error:
            raise ModelError(
                f"{self.name} at {self.base_url}: {type(error).__name__} {error}".rstrip(),
                error_type=type(error).__name__,
                transient=True,
            ) from error
        call.answered(
            answer.message,
            response_id=answer.response_id,
            model=answer.model,
            finish_reason=answer.finish_reason,
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cached_tokens=answer.cached_tokens,
        )
        return answer

    def _headers(self, call: Call) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return key | call.headers()

    @property
    def _url(self) -> str:
        return f"{self.base_url.rstrip('/')}/chat/completions"

    async def _whole(self, body: Message, call: Call) -> Answer:
        response = await self.http.post(self._url, json=body, headers=self._headers(call))
        _check(response, response.text)
        answer = Answer()
        try:
            data = response.json()
            _add_facts(answer, data)
            choice = data["choices"][0]
            answer.text = choice["message"].get("content") or ""
            answer.finish_reason = choice.get("finish_reason")
            answer.tool_requests = [_asked(each) for each in choice["message"].get("tool_calls") or ()]
        except (ValueError, LookupError, TypeError) as error:
            told = f"{self.name}: not a chat completion: {error!r}"
            raise ModelError(told, error_type="bad_response") from error
        return answer

    async def _streamed(self, body: Message, call: Call, on_text: Callable[[str], None] | None) -> Answer:
        answer, fragments = Answer(), _Fragments()
        async with self.http.stream("POST", self._url, json=body, headers=self._headers(call)) as response:
            if response.is_error:
                await response.aread()
            _check(response, response.text if response.is_error else "")
            async for data in _events(response):
                if error := data.get("error"):
                    raise ModelError(_told(error), error_type="stream_error")
                call.chunk()
                _add_facts(answer, data)
                for choice in data.get("choices") or ():  # the usage chunk has none
                    text = _add_delta(answer, fragments, choice.get("delta") or {}, call)
                    answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
                    if text and on_text:
                        on_text(text)
        if answer.finish_reason is None:
            raise ModelError(f"{self.name}: the stream ended before the answer did", error_type="stream_cut")
        answer.tool_requests = fragments.whole()
        return answer


class _Fragments:
    """Tool calls as a stream brings them: the name first, then the arguments in pieces, by index."""

    def __init__(self) -> None:
        self._by_index: dict[int, dict[str, str]] = {}

    def add(self, delta: Message) -> None:
        part = self._by_index.setdefault(delta.get("index") or 0, {"id": "", "name": "", "arguments": ""})
        function = delta.get("function") or {}
        part["id"] = delta.get("id") or part["id"]
        part["name"] += function.get("name") or ""
        part["arguments"] += function.get("arguments") or ""

    def whole(self) -> list[ToolRequest]:
        return [
            ToolRequest(part["id"] or f"call_{at}", part["name"], part["arguments"])
            for at, part in sorted(self._by_index.items())
        ]


def _add_delta(answer: Answer, fragments: _Fragments, delta: Message, call: Call) -> str:
    """Add a delta to the answer; returns its visible text. Anything but a role is output."""
    text: str = delta.get("content") or ""
    calls = delta.get("tool_calls") or ()
    if text or calls or delta.get("reasoning_content") or delta.get("reasoning"):
        call.token()
    answer.text += text
    for each in calls:
        fragments.add(each)
    return text


def _add_facts(answer: Answer, data: Message) -> None:
    answer.response_id = data.get("id") or answer.response_id
    answer.model = data.get("model") or answer.model
    if usage := data.get("usage"):
        answer.input_tokens = usage.get("prompt_tokens")
        answer.output_tokens = usage.get("completion_tokens")
        answer.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")


def _asked(call: Message) -> ToolRequest:
    return ToolRequest(call["id"], call["function"]["name"], call["function"]["arguments"])


async def _events(response: httpx.Response) -> AsyncIterator[Message]:
    """The JSON of each server-sent event. ``[DONE]`` ends the iteration, but not before the body is read."""
    async for line in response.aiter_lines():
        if not line.startswith("data:"):
            continue  # comments, event names, the empty lines between events
        payload = line[5:].strip()
        if payload == "[DONE]":
            continue
        try:
            data = json.loads(payload)
        except ValueError as error:
            told = f"not JSON in the stream: {payload[:120]!r}"
            raise ModelError(told, error_type="bad_response") from error
        if isinstance(data, dict):
            yield data


def _check(response: httpx.Response, text: str) -> None:
    if response.is_error:
        try:
            reason = _told(json.loads(text).get("error"))
        except (ValueError, AttributeError):
            reason = text[:200]
        raise ModelError(
            f"HTTP {response.status_code}: {reason}",
            status=response.status_code,
            transient=response.status_code in TRANSIENT,
            retry_after_s=_seconds(response.headers.get("retry-after")),
        )


def _seconds(text: str | None) -> float | None:
    """``Retry-After`` in its usual form; a date is as good as nothing said."""
    try:
        return max(0.0, float(text or ""))
    except ValueError:
        return None


def _told(error: Any) -> str:
    return str(error.get("message", error)) if isinstance(error, dict) else str(error)


def _recorded(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that the conventions have a ``gen_ai.request.*`` name for."""
    known = ("max_tokens", "temperature", "top_p", "seed")
    return {key: parameters[key] for key in known if key in parameters}

"""Bytes of the OpenAI chat completions API: requests checked, answers and stream events written."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

MAX_BODY = 16 * 1024 * 1024
MAX_CHOICES = 128


class BadRequestError(Exception):
    """The request cannot be served as it is; the text says why."""


@dataclass(frozen=True)
class Completion:
    """The facts that all chunks of one answer share."""

    model: str
    # Never seeded: the engine's span is found by this id, so it must not repeat between runs.
    id: str = field(default_factory=lambda: uuid4().hex)
    created: int = field(default_factory=lambda: int(time.time()))

    def chunk(self, index: int, delta: Mapping[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
        return self._shell("chat.completion.chunk") | {"choices": [choice]}

    def usage_chunk(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        return self._shell("chat.completion.chunk") | {"choices": [], "usage": usage}

    def whole(self, answers: Iterable[tuple[Mapping[str, Any], str]], usage: Mapping[str, Any]) -> dict[str, Any]:
        """``answers``: the message and the finish reason of each choice."""
        choices = [
            {"index": index, "message": message, "finish_reason": reason}
            for index, (message, reason) in enumerate(answers)
        ]
        return self._shell("chat.completion") | {"choices": choices, "usage": usage}

    def _shell(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


def usage(prompt_tokens: int, output_tokens: int, cached_tokens: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }


async def read_request(receive: Receive, model: str) -> dict[str, Any]:
    """The body, with what the engine relies on checked. Raises `BadRequestError`."""
    body, more = b"", True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise BadRequestError("the client left")
        body += event.get("body", b"")
        more = event.get("more_body", False)
        if len(body) > MAX_BODY:
            raise BadRequestError(f"the body is larger than {MAX_BODY} bytes")
    try:
        request = json.loads(body)
    except ValueError as error:
        raise BadRequestError(f"not JSON: {error}") from error
    messages = request.get("messages") if isinstance(request, dict) else None
    if not isinstance(messages, list) or not messages:
        raise BadRequestError("messages must be a list with at least one message")
    if not all(isinstance(message, dict) and "role" in message for message in messages):
        raise BadRequestError("each message must be an object with a role")
    if request.get("model") != model:
        raise BadRequestError(f"the model here is {model!r}, not {request.get('model')!r}")
    for limit in ("max_tokens", "max_completion_tokens"):
        if not isinstance(request.get(limit) or 1, int) or (request.get(limit) or 1) < 1:
            raise BadRequestError(f"{limit} must be a whole number above 0")
    choices = 1 if request.get("n") is None else request["n"]
    if not isinstance(choices, int) or not 1 <= choices <= MAX_CHOICES:
        raise BadRequestError(f"n must be a whole number from 1 to {MAX_CHOICES}")
    if choices > 1 and request.get("temperature") == 0:
        raise BadRequestError(f"n must be 1 when using greedy sampling, got {choices}.")
    checked: dict[str, Any] = request
    return checked


async def send_json(send: Send, status: int, data: Mapping[str, Any]) -> None:
    await start(send, status, "application/json")
    await send({"type": "http.response.body", "body": json.dumps(data).encode()})


async def send_text(send: Send, text: bytes, content_type: str) -> None:
    await start(send, 200, content_type)
    await send({"type": "http.response.body", "body": text})


async def send_error(send: Send, status: int, message: str) -> None:
    await send_json(send, status, error(status, message))


async def start(send: Send, status: int, content_type: str) -> None:
    headers = [(b"content-type", content_type.encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def send_event(send: Send, data: Mapping[str, Any] | str) -> None:
    """One server-sent event; the body stays open."""
    text = data if isinstance(data, str) else json.dumps(data)
    await send({"type": "http.response.body", "body": f"data: {text}\n\n".encode(), "more_body": True})


def error(status: int, message: str) -> dict[str, Any]:
    kind = "BadRequestError" if status < 500 else "InternalServerError"
    return {"error": {"message": message, "type": kind, "code": status}}

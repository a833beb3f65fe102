"""From a chat request to tokens, as a chat template and a tokeniser do: tools first, then turn by turn.

A token is up to four characters, the usual rule of thumb for English. What the model says becomes the same tokens
when the next request brings it back, so a conversation's start is found in the cache, answers included:

    request 1   <|tools|> … <|system|> … <|user|> … <|assistant|>      answer: <|call find|> {"nu mber …
    request 2   <|tools|> … <|system|> … <|user|> … <|assistant|> <|call find|> {"nu mber … <|end|> <|tool|> …
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

CHARS_PER_TOKEN = 4


def pieces(text: str) -> list[str]:
    return [text[start : start + CHARS_PER_TOKEN] for start in range(0, len(text), CHARS_PER_TOKEN)]


def prompt(request: Mapping[str, Any]) -> list[str]:
    tokens: list[str] = []
    if tools := request.get("tools"):
        tokens.append("<|tools|>")
        for tool in tools:
            tokens += pieces(json.dumps(tool, sort_keys=True, ensure_ascii=False))
    for message in request["messages"]:
        tokens.append(f"<|{message['role']}|>")
        tokens += _said(message)
        tokens.append("<|end|>")
    tokens.append("<|assistant|>")
    return tokens


def output(delta: Mapping[str, Any]) -> str:
    """The token that a delta of the answer stands for."""
    for call in delta.get("tool_calls") or ():
        function = call["function"]
        return _call(function["name"]) if function.get("name") else str(function["arguments"])
    return str(delta.get("content") or "")


def _said(message: Mapping[str, Any]) -> Iterator[str]:
    content = message.get("content")
    if content:
        yield from pieces(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        yield _call(str(function.get("name")))
        yield from pieces(str(function.get("arguments") or ""))


def _call(name: str) -> str:
    return f"<|call {name}|>"

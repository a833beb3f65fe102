"""OpenAI chat messages as the GenAI conventions write them: role and parts, as JSON text.

{"role": "tool", "tool_call_id": "c1", "content": "3 rows"}
→ {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3 rows"}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Message = Mapping[str, Any]


def input_messages(messages: Iterable[Message], limit: int) -> str:
    """``gen_ai.input.messages``: all but the system's. Texts over ``limit`` characters are cut."""
    spoken = (message for message in messages if message["role"] != "system")
    return _json([{"role": message["role"], "parts": _parts(message, limit)} for message in spoken])


def output_messages(message: Message, finish_reason: str | None, limit: int) -> str:
    """``gen_ai.output.messages``: the one answer."""
    return _json([{"role": "assistant", "parts": _parts(message, limit), "finish_reason": finish_reason or "unknown"}])


def system_instructions(messages: Iterable[Message], limit: int) -> str | None:
    """``gen_ai.system_instructions``, or None where there are none."""
    texts = [str(message["content"]) for message in messages if message["role"] == "system"]
    return _json([{"type": "text", "content": cut(text, limit)} for text in texts]) if texts else None


def cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, and how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _parts(message: Message, limit: int) -> list[dict[str, Any]]:
    content = message.get("content")
    text = "" if content is None else cut(content if isinstance(content, str) else _json(content), limit)
    if message["role"] == "tool":
        return [{"type": "tool_call_response", "id": message.get("tool_call_id"), "response": text}]
    parts: list[dict[str, Any]] = [{"type": "text", "content": text}] if text else []
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = _arguments(cut(function["arguments"], limit))
        parts.append({"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": arguments})
    return parts


def _arguments(text: str) -> Any:
    """The arguments as an object; as the model's own text where that is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

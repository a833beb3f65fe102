"""What of an answer is sent when: a tool parser stands between the tokens and the client.

tokens    Let | me | look | <call find> | {"nu | mber | ": 7}
passing   Let | me | look | <call find> | {"nu | mber | ": 7}
holding   Let | me | look |             |      |      | <call find> {"number": 7}
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Delta = dict[str, Any]


def passing(deltas: list[Delta]) -> list[list[Delta]]:
    """Each token is sent when it is made."""
    return [[delta] for delta in deltas]


def holding(deltas: list[Delta]) -> list[list[Delta]]:
    """A tool call is sent when it is whole, as by parsers that must see its end; one that was cut short never is.

    So a client sees its first token late, though the engine made it long before: on a real vLLM 3.29 s instead of
    0.27 s were captured.
    """
    shown: list[list[Delta]] = [[] for _ in deltas]
    held: list[Delta] = []
    for at, delta in enumerate(deltas):
        if "tool_calls" not in delta:
            shown[at].append(delta)
            continue
        held.append(delta)
        if at + 1 == len(deltas) or not _goes_on(deltas[at + 1]):
            shown[at].append({"tool_calls": joined(held)["tool_calls"]})
            held.clear()
    return shown


def joined(deltas: Iterable[Delta]) -> dict[str, Any]:
    """The message that a client would put together from these deltas."""
    text = ""
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        text += delta.get("content") or ""
        for part in delta.get("tool_calls", ()):
            whole = calls.setdefault(part["index"], {**part, "function": {"name": "", "arguments": ""}})
            function = whole["function"]
            function["name"] += part["function"].get("name", "")
            function["arguments"] += part["function"].get("arguments", "")
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        message["tool_calls"] = list(calls.values())
    return message


def _goes_on(delta: Delta) -> bool:
    """Whether it is a further part of a call that was begun before."""
    return any("id" not in call for call in delta.get("tool_calls", ()))

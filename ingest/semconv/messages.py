"""Messages in any dialect: which tools an output asks for, whether an input ends in tool results.

Dialects met: OTel parts, OpenAI chat and Responses, Anthropic blocks, Bedrock's toolUse, Vercel's
tool-call, Haystack's and LangChain's dumps. They differ in spelling, not in shape, so one bounded walk reads all.
"""

from __future__ import annotations

from typing import Any

from ingest.semconv.facts import AskedTool
from ingest.semconv.values import document

MAX_VALUES = 4_000
# A cheap look before parsing: no tool call is spelled without one of these.
_HINTS = ("tool_call", "toolCall", "tool_use", "toolUse", "function_call", "tool-call")
# Tuples, not sets: what is asked of them comes out of foreign JSON and may not be hashable.
ASKING_TYPES = ("tool_call", "tool_use", "function_call", "tool-call")
RESULT_TYPES = ("tool_call_response", "tool_result", "tool-result", "function_call_output", "tool")
_RESULT_HINTS = ("tool", "function")
RESULT_ROLES = ("tool", "function")
_TEXT_KEYS = ("content", "text")


def asked_in(value: Any) -> tuple[AskedTool, ...]:
    """The tools that an output asks for, in the order of the text, each once."""
    if isinstance(value, str):
        if not hints_at_tools(value):
            return ()
        value = document(value)
    found: dict[tuple[str | None, str | None], AskedTool] = {}
    waiting, seen = [value], 0
    while waiting and seen < MAX_VALUES:
        seen += 1
        one = waiting.pop()
        if isinstance(one, dict):
            asked = asked_of(one)
            if asked is not None:
                found.setdefault((asked.call_id, None if asked.call_id else asked.name), asked)
            else:
                waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list | tuple):
            waiting.extend(reversed(one))
        elif isinstance(one, str) and one[:1] in "[{" and hints_at_tools(one):
            waiting.append(document(one))
    return tuple(found.values())


def hints_at_results(value: str) -> bool:
    return any(hint in value for hint in _RESULT_HINTS)


def hints_at_tools(value: str) -> bool:
    # All but one have a part in common, and most texts have neither: two looks instead of six.
    if "tool" not in value:
        return "function_call" in value
    return any(hint in value for hint in _HINTS)


def asked_of(one: dict[str, Any]) -> AskedTool | None:
    """The tool call that an object is, in any dialect; None where it is something else."""
    use = one.get("toolUse")
    if isinstance(use, dict):
        return _named(use.get("name"), use.get("toolUseId"))
    function = one.get("function")
    # A call has arguments, or an id where those are kept back; the definition of a tool has neither.
    if isinstance(function, dict) and "name" in function and ("arguments" in function or "id" in one):
        return _named(function["name"], one.get("id"))
    if "tool_name" in one and "arguments" in one:
        return _named(one["tool_name"], one.get("id"))
    if "toolName" in one and "toolCallId" in one and "result" not in one and "output" not in one:
        return _named(one["toolName"], one["toolCallId"])
    if one.get("type") in ASKING_TYPES and (isinstance(one.get("name"), str) or "function" in one):
        inner = function if isinstance(function, dict) else {}
        return _named(one.get("name") or inner.get("name"), one.get("call_id") or one.get("id"))
    return None


def _named(name: Any, call_id: Any) -> AskedTool | None:
    if not isinstance(name, str) or not name:
        return None
    return AskedTool(name=name, call_id=call_id if isinstance(call_id, str) and call_id else None)


def ends_in_tool_results(value: Any) -> bool | None:
    """Whether the last message of an input is a tool's result; None where no message can be read."""
    if isinstance(value, str) and not hints_at_results(value):
        return False if value[:1] in ("[", "{") else None
    value = document(value)
    for _ in range(4):  # {"messages": [[…]]} and its like
        if isinstance(value, dict):
            value = next((value[key] for key in ("messages", "input", "contents") if key in value), None)
        elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
            value = value[0]
    if not isinstance(value, list) or not value:
        return None
    last = next((message for message in reversed(value) if not is_definition(message)), None)
    return None if last is None else _is_result(last)


def is_definition(message: Any) -> bool:
    """A tool that is offered, not one that has run: some list the definitions after the messages, as `tool` too."""
    content = message.get("content") if isinstance(message, dict) else None
    function = content.get("function") if isinstance(content, dict) else None
    return isinstance(function, dict) and "parameters" in function


def _is_result(message: Any) -> bool | None:
    if not isinstance(message, dict):
        return None
    if message.get("role") in RESULT_ROLES or message.get("type") in RESULT_TYPES:
        return True
    parts = message.get("parts") or message.get("content")
    if not isinstance(parts, list) or not parts:
        return False
    return all(isinstance(part, dict) and (part.get("type") in RESULT_TYPES or "toolResult" in part) for part in parts)


def bears_token(chunk: Any) -> bool:
    """Whether a streamed chunk holds output. Role headers and `response.created` do not; the unknown does."""
    chunk = document(chunk)
    if not isinstance(chunk, dict):
        return True
    kind = chunk.get("type")
    if isinstance(kind, str) and not chunk.get("choices"):
        return kind.endswith(("delta", "chunk"))
    choices = chunk.get("choices")
    if not isinstance(choices, list):
        return True
    deltas = [choice.get("delta") for choice in choices if isinstance(choice, dict)]
    return any(
        isinstance(delta, dict) and any(value and key != "role" for key, value in delta.items()) for delta in deltas
    )


def shows_text(value: Any) -> bool | None:
    """Whether an output holds words for a reader, not only tool calls; None where it cannot be read."""
    value = document(value)
    if value is None:
        return None
    waiting, seen = [value], 0
    while waiting and seen < MAX_VALUES:
        seen += 1
        one = waiting.pop()
        if isinstance(one, dict):
            if asked_of(one) is not None:
                continue
            if any(isinstance(one.get(key), str) and one[key].strip() for key in _TEXT_KEYS):
                return True
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
    return False

"""What of a span's attributes is somebody's text, and what is left of it where no text may be kept. Pure.

A value that may be text is reduced to its bones: of messages, tool calls and responses stay roles, types, ids,
names, finish reasons and counts, which is all that the adapters read of them, and every other string becomes MARK.
What has no bones becomes MARK whole. So what is kept is listed, not what is left out: a dialect that nobody has met
yet loses its structure before it shows its text.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ingest.semconv import (
    coding_agents,
    engine,
    gen_ai,
    http,
    langfuse,
    langsmith,
    litellm,
    livekit,
    log_events,
    mcp,
    mlflow,
    openinference,
    openllmetry,
    sixstage,
    templates,
    vercel,
)
from ingest.semconv.messages import (
    ASKING_TYPES,
    RESULT_ROLES,
    RESULT_TYPES,
    asked_of,
    hints_at_results,
    hints_at_tools,
    is_definition,
)
from ingest.semconv.values import Row

MARK = "(left out)"
LONG_CHARS = 256  # from which text under an unknown key is taken for payload
ERROR_CHARS = 200  # of an error's first line, which is what a run shows of it
WORD = re.compile(r"[\w.:/@+-]{1,128}\Z")

_TABLES: tuple[tuple[Row, ...], ...] = (
    sixstage.ROWS, engine.ROWS, mcp.ROWS, http.ROWS, litellm.ROWS, mlflow.ROWS,
    vercel.CALL_ROWS, vercel.TOOL_ROWS, vercel.IDENTITY_ROWS, langfuse.ROWS, langfuse.IDENTITY_ROWS,
    openinference.CALL_ROWS, openinference.TOOL_ROWS, openinference.IDENTITY_ROWS,
    openllmetry.CALL_ROWS, openllmetry.IDENTITY_ROWS, gen_ai.CALL_ROWS, gen_ai.TOOL_ROWS, gen_ai.IDENTITY_ROWS,
    coding_agents.CALL_ROWS, coding_agents.TOOL_ROWS, langsmith.IDENTITY_ROWS, livekit.TOOL_ROWS,
    log_events.CHOICE_ROWS, log_events.DETAIL_ROWS, templates.CALL_ROWS, templates.ROOT_ROWS,
)  # fmt: skip
# Kept as they are: what the adapters read as plain facts, and what else decides a span's kind.
FACT_KEYS = frozenset(row[1] for table in _TABLES for row in table) | {
    "gen_ai.operation.name", "gen_ai.agent.tools", "gen_ai.agent.id", "gen_ai.workflow.name", "gen_ai.output.type",
    "gen_ai.usage.raw", "usage", "langfuse.observation.usage_details", "mlflow.chat.tokenUsage", "llm.openai.usage",
    "metadata.usage_object", "langfuse.observation.completion_start_time", "mlflow.spanType",
    "mlflow.spanFunctionName", "mlflow.traceRequestId", "logfire.msg_template", "traceloop.entity.name",
    "traceloop.entity.path", "smolagents.tools_names", "input.mime_type", "output.mime_type", "event.name",
    "exception.type", "error.type", "span.type", "haystack.tool.name", "haystack.component.type", "lk.agent_label",
    "langsmith.span.kind", "langsmith.metadata.usage_metadata",
}  # fmt: skip
# The first line of an error, no more: what follows quotes what was asked.
ERROR_KEYS = frozenset({"exception.message", "error.message", "langfuse.observation.status_message",
                        "error", "haystack.tool.error"})  # fmt: skip
# Never anything but text: what a tool was given and what it gave back, definitions, stack traces.
_OPAQUE_WORDS = frozenset({"arguments", "args", "kwargs", "result", "results", "parameters", "definitions", "schema",
                           "stacktrace", "tools", "functions", "description"})  # fmt: skip
# Text or messages.
_PAYLOAD_WORDS = frozenset({"input", "inputs", "output", "outputs", "prompt", "prompts", "completion", "completions",
                            "content", "contents", "text", "message", "messages", "question", "answer", "query",
                            "instructions", "system", "request", "response", "value", "body", "msg", "data",
                            "reasoning", "thinking", "thought", "document", "documents", "transcript"})  # fmt: skip
# Flattened messages: under these only the last word of a key tells.
_FLAT = ("llm.input_messages.", "llm.output_messages.", "llm.prompts.", "llm.choices.", "gen_ai.prompt.",
         "gen_ai.completion.", "llm.request.functions.")  # fmt: skip
_FLAT_FACTS = frozenset({"role", "type", "id", "name", "finish_reason", "tool_call_id"})

_KEEP, _ERROR, _OPAQUE, _PAYLOAD, _FLAT_FACT, _UNKNOWN = range(6)
_rules: dict[str, int] = {}
MAX_RULES = 8_192

# Inside of documents.
_ROLES = frozenset({"system", "developer", "user", "assistant", "model", "human", "ai", *RESULT_ROLES,
                    "tool-call", "tool-response"})  # fmt: skip
_TYPES = frozenset({*ASKING_TYPES, *RESULT_TYPES, "message", "text", "input_text", "output_text", "reasoning",
                    "thinking", "refusal", "image", "image_url", "audio", "file", "blob", "uri", "function", "system",
                    "human", "ai", "constructor", "content"})  # fmt: skip
_STREAM_TYPE = re.compile(r"(response(\.[a-z_]+)+|(message|content_block)_(start|stop)|[a-z_.-]*(delta|chunk))\Z")
_IDS = frozenset({"id", "call_id", "tool_call_id", "tool_use_id", "toolCallId", "toolUseId", "name", "toolName"})
_ENDINGS = frozenset({"finish_reason", "finishReason", "stop_reason", "stopReason", "stop", "status",
                      "completion_start_time"})  # fmt: skip
_IDENTITY = frozenset({"session_id", "thread_id", "conversation_id", "user_id", "model", "model_name"})
_WORDS_OF_TEXT = frozenset({"content", "text"})
_RESPONSES = frozenset({"choices", "output", "usage", "object", "generations", "delta"})
_CONTAINERS = frozenset({"messages", "input", "contents", "parts", "content", "choices"})
_MAX_DEPTH = 40


def left_out(size: int) -> str:
    """The mark in the place of a text of ``size`` characters."""
    return f"(left out by Sixstage: {size:,} characters)"


def without_payload(key: str, value: Any) -> Any:
    """The value of the attribute ``key`` without anybody's text. ``value`` itself where there is none in it."""
    rule = _rules.get(key)
    if rule is None:
        if len(_rules) >= MAX_RULES:
            _rules.clear()
        rule = _rules[key] = _rule(key)
    if rule == _KEEP or value is None or isinstance(value, bool):
        return value
    if rule == _ERROR:
        return error_line(value) if isinstance(value, str) else MARK
    if rule == _FLAT_FACT:
        return value if not isinstance(value, str) or WORD.match(value) else left_out(len(value))
    if rule == _UNKNOWN:
        return _unknown(value)
    if rule == _OPAQUE:
        return _whole(value)
    if isinstance(value, str):
        return _document(value)
    if isinstance(value, list | dict):
        return bones(value)
    return value if key == "stream" or rule != _PAYLOAD else _whole(value)


def _rule(key: str) -> int:
    if key in FACT_KEYS:
        return _KEEP
    if key in ERROR_KEYS:
        return _ERROR
    words = re.split(r"[._\-]", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower())
    while words and words[-1].isdigit():
        words.pop()
    last = words[-1] if words else ""
    if key.startswith(_FLAT):
        # A word that tells a fact may stand under what does not: `…function.arguments.name` is nobody's name.
        return _FLAT_FACT if key.rpartition(".")[2] in _FLAT_FACTS and _OPAQUE_WORDS.isdisjoint(words) else _OPAQUE
    if last in _OPAQUE_WORDS:
        return _OPAQUE if last != "parameters" or "invocation" not in words else _PAYLOAD
    return _PAYLOAD if last in _PAYLOAD_WORDS else _UNKNOWN


def error_line(text: str) -> str:
    """An error's first line, cut; and how much there was, where that is not all."""
    line = text.strip().partition("\n")[0][:ERROR_CHARS]
    return text if len(line) >= len(text.strip()) else f"{line}\n{left_out(len(text))}"


def _whole(value: Any) -> Any:
    if isinstance(value, str | bytes):
        return left_out(len(value)) if value else value
    return MARK if value else value


def _unknown(value: Any) -> Any:
    if isinstance(value, str):
        if value[:1] in ("[", "{"):
            return _document(value)
        return value if len(value) <= LONG_CHARS else left_out(len(value))
    if isinstance(value, bytes):
        return value if len(value) <= LONG_CHARS else left_out(len(value))
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return [_unknown(item) for item in value]
    return bones(value) if isinstance(value, list | dict) else value


def _document(text: str) -> str:
    """A text, or JSON in one. Where it cannot be read, only its first character still tells what it was."""
    if not text.strip():
        return text
    if text.lstrip()[:1] not in ("[", "{"):
        return left_out(len(text))
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return left_out(len(text)) if hints_at_results(text) else f"[{left_out(len(text))}]"
    kept, told = _bones(value, 0)
    if told or not value:
        return json.dumps(kept, ensure_ascii=False)
    mark: Any = [left_out(len(text))] if isinstance(value, list) else {"": left_out(len(text))}
    return json.dumps(mark, ensure_ascii=False)


def bones(value: Any) -> Any:
    """A document (lists, dicts, scalars) reduced to what the adapters read of messages and responses."""
    return _bones(value, 0)[0]


def _bones(value: Any, depth: int) -> tuple[Any, bool]:
    """What is left, and whether anything in it tells a fact. What is empty or false stays as it is."""
    if not value or value is True:
        return value, False
    if depth > _MAX_DEPTH:
        return MARK, False
    if isinstance(value, dict):
        return _bones_of_object(value, depth)
    if isinstance(value, list | tuple):
        pairs = [_bones(item, depth + 1) for item in value]
        told = any(known for _, known in pairs)
        # Lists of flags and empty things stay lists; of others only those that lead to facts.
        return ([kept for kept, _ in pairs], True) if told else ([MARK], False)
    if isinstance(value, str) and value[:1] in "[{" and hints_at_tools(value):
        return _nested(value, depth)
    return MARK, False


def _nested(text: str, depth: int) -> tuple[Any, bool]:
    try:
        kept, told = _bones(json.loads(text), depth + 1)
    except (ValueError, RecursionError):
        return MARK, False
    return (json.dumps(kept, ensure_ascii=False), True) if told else (MARK, False)


def _bones_of_object(value: dict[Any, Any], depth: int) -> tuple[Any, bool]:
    if is_definition(value):  # what it takes is somebody's text; that it is one is all that is read
        return {"role": "tool", "content": {"function": {"parameters": MARK}}}, True
    is_call = asked_of(value) is not None
    is_result = _is_result(value)
    is_known = is_call or is_result or _speaks(value) or not _RESPONSES.isdisjoint(value)
    kept: dict[str, Any] = {}
    told = is_known
    for key, inner in value.items():
        if not inner or inner is True:
            kept[key] = inner  # nobody's text; and whether a delta is empty is a fact
            told = told or key == "stream"
        elif _is_fact(key, inner, is_known):
            kept[key], told = inner, True
        elif _is_opaque(key, inner, is_call, is_result):
            kept[key] = MARK
        elif is_result:  # of what a tool gave back only that it is one
            kept[key] = [_bones(part, depth + 1)[0] if _is_result(part) else MARK for part in inner]
        elif key in ("function", "toolUse", "toolResult") and isinstance(inner, dict):
            told = told or key == "toolResult"
            kept[key] = {k: v if k in _IDS and _is_word(v) else MARK for k, v in inner.items()}
        elif key in _WORDS_OF_TEXT and isinstance(inner, str):
            kept[key], known = _bones(inner, depth + 1)
            kept[key] = kept[key] if known or inner.strip() else inner
            told = True
        else:
            kept[key], known = _bones(inner, depth + 1)
            told = told or known
    if told or not any(value.values()):
        return kept, told
    return {"": MARK}, False


def _is_opaque(key: str, value: Any, is_call: bool, is_result: bool) -> bool:
    """Whether nothing of a value is looked at: what a tool is given or gives back, and its definition."""
    if is_call:
        return key not in ("function", "toolUse")
    if is_result:
        return not (key in _CONTAINERS and isinstance(value, list))
    return key in _OPAQUE_WORDS and key != "kwargs"


def _is_result(value: Any) -> bool:
    return isinstance(value, dict) and (value.get("role") in RESULT_ROLES or value.get("type") in RESULT_TYPES)


def _speaks(value: dict[Any, Any]) -> bool:
    role, kind = value.get("role"), value.get("type")
    return (isinstance(role, str) and role in _ROLES) or (isinstance(kind, str) and _is_type(kind))


def _is_type(kind: str) -> bool:
    return kind in _TYPES or bool(_STREAM_TYPE.match(kind[:64]))


def _is_fact(key: str, value: Any, is_known: bool) -> bool:
    if isinstance(value, int | float):
        return key == "index" or key.endswith(("tokens", "_count", "Tokens"))
    if key == "role":
        return isinstance(value, str) and value in _ROLES
    if key == "type":
        return isinstance(value, str) and _is_type(value)
    if key in _IDS:
        return is_known and _is_word(value)
    return (key in _ENDINGS or key in _IDENTITY) and _is_word(value)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and WORD.match(value) is not None

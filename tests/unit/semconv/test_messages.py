"""Messages: whether an input ends in tool results, whether an output has words, what a chunk bears."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.semconv.messages import asked_in, bears_token, ends_in_tool_results, shows_text
from ingest.semconv.read import brings_tool_results
from tests.unit.semconv.telling import event, span


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ({"role": "tool", "content": "12"}, True),
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1"}]}, True),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1"}]}, True),
        ({"role": "user", "content": [{"toolResult": {"toolUseId": "c1"}}]}, True),
        ({"type": "function_call_output", "call_id": "c1"}, True),
        ({"role": "user", "content": "what about tools?"}, False),
        ({"role": "user", "parts": [{"type": "text", "content": "and the function?"}]}, False),
        ({"role": "user", "content": [{"type": "tool_result"}, {"type": "text", "text": "and now?"}]}, False),
    ],
)
def test_the_last_message_tells_whether_results_are_brought(last: dict[str, Any], expected: bool) -> None:
    history = [{"role": "user", "content": "hi"}, {"role": "tool", "content": "old"}, last]
    assert ends_in_tool_results(json.dumps(history)) is expected
    assert ends_in_tool_results(json.dumps({"model": "m", "messages": history})) is expected
    assert ends_in_tool_results([history]) is expected


def test_tools_that_are_offered_after_the_messages_are_no_results() -> None:
    offered = {
        "role": "tool",
        "content": {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}},
    }
    assert ends_in_tool_results([{"role": "user", "content": "hi"}, offered, offered]) is False
    assert ends_in_tool_results([{"role": "user", "content": "hi"}, {"role": "tool", "content": "12"}, offered]) is True
    assert ends_in_tool_results([offered]) is None


@pytest.mark.parametrize("value", [None, 5, "words about a tool", '["tool"]', '{"tool": 1}', '{"tool'])
def test_what_cannot_be_read_tells_nothing(value: Any) -> None:
    assert ends_in_tool_results(value) is None


def test_flattened_and_event_messages_tell_it_too() -> None:
    flat = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.1.message.role": "tool",
    }
    assert brings_tool_results(span(attributes=flat)) is True
    events = (event("gen_ai.user.message", 0), event("gen_ai.tool.message", 0), event("gen_ai.choice", 9))
    assert brings_tool_results(span(events=events)) is True
    assert brings_tool_results(span(events=events[:1])) is False
    assert brings_tool_results(span()) is None


def test_a_tool_is_asked_for_once_however_often_it_is_told() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "search"}
    assert len(asked_in(json.dumps({"a": [call, call], "b": json.dumps([call])}))) == 1


def test_words_beside_tool_calls_are_seen() -> None:
    call = {"type": "tool_call", "id": "c1", "name": "search", "content": "no words of its own"}
    assert shows_text([{"parts": [call, {"type": "text", "content": "Let me look."}]}]) is True
    assert shows_text([{"parts": [call, {"type": "text", "content": " "}]}]) is False
    assert shows_text("plain words") is None


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"choices": [{"delta": {"role": "assistant", "content": ""}}]}, False),
        ({"choices": [{"delta": {"content": "Hi"}}]}, True),
        ({"choices": [{"delta": {"tool_calls": [{"index": 0}]}}]}, True),
        ({"choices": []}, False),
        ({"type": "response.created"}, False),
        ({"type": "response.output_text.delta"}, True),
        ("unreadable", True),
    ],
)
def test_a_chunk_bears_a_token_or_not(chunk: Any, expected: bool) -> None:
    assert bears_token(chunk) is expected

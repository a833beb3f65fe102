"""Where no text may be kept, the text goes and what the decomposition reads stays."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.semconv.messages import asked_in, bears_token, ends_in_tool_results, shows_text
from ingest.semconv.payload import FACT_KEYS, bones, error_line, without_payload

SECRET = "the patient is Ann Smith"
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": json.dumps({"who": SECRET})}}
DIALECTS: dict[str, Any] = {
    "parts": [{"role": "user", "parts": [{"type": "text", "content": SECRET}]},
              {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "look_up",
                                               "arguments": {"name": SECRET, "id": "A-1"}}]},
              {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": SECRET}]}],
    "chat": [{"role": "user", "content": SECRET}, {"role": "assistant", "content": None, "tool_calls": [CALL]},
             {"role": "tool", "tool_call_id": "call_1", "content": SECRET}],
    "chat answers": [{"role": "user", "content": SECRET}],
    "responses": {"id": "resp_1", "output": [{"type": "function_call", "call_id": "c1", "name": "look_up",
                                              "arguments": json.dumps({"who": SECRET})}]},
    "responses input": {"input": [{"role": "user", "content": SECRET},
                                  {"type": "function_call_output", "call_id": "c1", "output": SECRET}]},
    "blocks": [{"role": "assistant", "content": [{"type": "text", "text": SECRET},
                                                 {"type": "tool_use", "id": "t1", "name": "look_up",
                                                  "input": {"name": SECRET}}]},
               {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": SECRET}]}],
    "bedrock": [{"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look_up",
                                                               "input": {"who": SECRET}}}]},
                {"role": "user", "content": [{"toolResult": {"toolUseId": "t1", "content": [{"text": SECRET}]}}]}],
    "vercel": [{"type": "tool-call", "toolCallId": "c1", "toolName": "look_up", "input": {"who": SECRET}}],
    "langchain": {"generations": [[{"message": {"kwargs": {"content": "", "tool_calls": [
        {"name": "look_up", "args": {"who": SECRET}, "id": "c1", "type": "tool_call"}]}}}]]},
    "tools offered after the messages": [
        {"role": "user", "content": SECRET},
        {"role": "tool", "content": {"type": "function", "function": {"name": "look_up", "description": SECRET,
                                                                      "parameters": {"who": SECRET}}}}],
    "nested": {"messages": [[{"role": "user", "content": SECRET}]]},
}  # fmt: skip


@pytest.mark.parametrize("document", DIALECTS.values(), ids=DIALECTS)
def test_of_messages_the_bones_stay_and_the_words_go(document: Any) -> None:
    text = json.dumps(document)
    kept = without_payload("input.value", text)
    assert "Ann" not in kept
    assert "A-1" not in kept
    assert asked_in(kept) == asked_in(text)
    assert ends_in_tool_results(kept) == ends_in_tool_results(text)
    assert shows_text(kept) == shows_text(text)
    assert bones(document) == json.loads(kept)  # as a structured attribute it is the same


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [{"delta": {"role": "assistant", "content": ""}}]},
        {"choices": [{"delta": {"content": SECRET}}]},
        {"choices": [{"delta": {"reasoning_content": SECRET}}]},
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": SECRET}}]}}]},
        {"choices": []},
        {"type": "response.created"},
        {"type": "response.output_text.delta", "delta": SECRET},
    ],
)
def test_whether_a_chunk_bears_a_token_is_still_told(chunk: dict[str, Any]) -> None:
    kept = without_payload("mlflow.chunk.value", json.dumps(chunk))
    assert "Ann" not in kept
    assert bears_token(kept) == bears_token(json.dumps(chunk))


@pytest.mark.parametrize(
    "key",
    [
        "gen_ai.input.messages", "gen_ai.system_instructions", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
        "gen_ai.prompt.0.content", "gen_ai.completion.0.content", "gen_ai.completion.0.tool_calls.0.arguments",
        "llm.input_messages.3.message.content", "llm.input_messages.0.message.contents.1.message_content.text",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "input.value", "output.value",
        "ai.prompt", "ai.response.text", "ai.toolCall.args", "ai.toolCall.result", "langfuse.observation.input",
        "mlflow.spanOutputs", "traceloop.entity.input", "pydantic_ai.all_messages", "final_result", "raw_input",
        "function.kwargs", "logfire.msg", "exception.stacktrace", "app.user_question", "tool_input", "userPrompt",
    ],
)  # fmt: skip
@pytest.mark.parametrize("value", [SECRET, json.dumps({"name": SECRET, "id": "Ann-1", "role": "Ann"}), f'["{SECRET}"]'])
def test_text_goes_whatever_convention_it_came_under(key: str, value: str) -> None:
    kept = without_payload(key, value)
    assert "Ann" not in kept
    assert "left out" in kept


@pytest.mark.parametrize("key", sorted(FACT_KEYS))
def test_what_an_adapter_reads_as_a_plain_fact_is_never_touched(key: str) -> None:
    value = "gpt 5, served by Ann"
    assert without_payload(key, value) is value


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("http.url", "http://127.0.0.1/v1/chat"), ("order.id", "4711"), ("llm.output_messages.0.message.role", "user"),
        ("gen_ai.completion.0.tool_calls.0.name", "look_up"), ("gen_ai.completion.0.finish_reason", "stop"),
        ("gen_ai.usage.input_tokens", 12), ("stream", True), ("input.value", ""), ("temperature", 0.7),
        ("gen_ai.response.finish_reasons", ["stop"]), ("deployment.environment.name", "production"),
    ],
)  # fmt: skip
def test_facts_and_short_attributes_of_ones_own_stay(key: str, value: Any) -> None:
    assert without_payload(key, value) == value


def test_long_text_goes_under_any_key() -> None:
    assert without_payload("acme.note", "word " * 100) == "(left out by Sixstage: 500 characters)"


def test_identity_in_metadata_stays() -> None:
    metadata = json.dumps({"session_id": "s-1", "user_id": "u-1", "note": SECRET})
    assert json.loads(without_payload("metadata", metadata)) == {
        "session_id": "s-1", "user_id": "u-1", "note": "(left out)",
    }  # fmt: skip


def test_when_a_reply_began_is_no_text() -> None:
    meta = {"completion_start_time": "2026-11-29T23:18:38.570449", "note": SECRET}
    reply = {"replies": [{"role": "assistant", "content": [{"text": SECRET}], "meta": meta}]}
    kept = without_payload("haystack.component.output", json.dumps(reply))
    assert json.loads(kept)["replies"][0]["meta"]["completion_start_time"] == meta["completion_start_time"]
    assert "Ann" not in kept


def test_a_response_keeps_its_id_and_its_counts() -> None:
    answer = {"id": "chatcmpl-1", "choices": [{"index": 0, "finish_reason": "stop", "message": {
        "role": "assistant", "content": SECRET}}], "usage": {"prompt_tokens": 7}}  # fmt: skip
    kept = json.loads(without_payload("output.value", json.dumps(answer)))
    assert kept["id"] == "chatcmpl-1"
    assert kept["choices"][0]["finish_reason"] == "stop"
    assert kept["usage"] == {"prompt_tokens": 7}


@pytest.mark.parametrize("text", ["{broken", "[broken tool", "[" * 100_000, '"quoted"', "plain"])
def test_what_is_no_json_goes_whole_and_reads_as_before(text: str) -> None:
    kept = without_payload("gen_ai.input.messages", text)
    assert text not in kept
    assert ends_in_tool_results(kept) == ends_in_tool_results(text)


def test_of_an_error_the_first_line_stays() -> None:
    assert error_line("boom") == "boom"
    kept = error_line(f"boom\n{SECRET}")
    assert kept.startswith("boom\n")
    assert "Ann" not in kept


def test_numbers_that_a_tool_was_given_go_too() -> None:
    kept = without_payload("mlflow.spanOutputs", json.dumps({"balance": 4711, "messages": [{"role": "user"}]}))
    assert "4711" not in kept

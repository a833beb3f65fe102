"""Facts of each convention: tokens, names, first tokens with their units, errors, identity."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ingest.semconv.facts import AskedTool
from ingest.spans import STATUS_ERROR
from tests.unit.semconv.telling import MS, event, facts, first_tokens


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 420,
            "gen_ai.usage.output_tokens": 24,
            "gen_ai.usage.cache_read.input_tokens": 384,
        },
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.prompt_tokens": "420",
            "gen_ai.usage.completion_tokens": 24.0,
            "gen_ai.usage.cache_read_input_tokens": 384,
        },
        {
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 420,
            "llm.token_count.completion": 24,
            "llm.token_count.prompt_details.cache_read": 384,
        },
        {
            "ai.operationId": "ai.streamText.doStream",
            "ai.usage.inputTokens": 420,
            "ai.usage.outputTokens": 24,
            "ai.usage.cachedInputTokens": 384,
        },
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.usage_details": json.dumps(
                {"prompt_tokens": 420, "completion_tokens": 24, "prompt_tokens_details": {"cached_tokens": 384}}
            ),
        },
        {
            "mlflow.spanType": '"CHAT_MODEL"',
            "mlflow.chat.tokenUsage": '{"input_tokens": 420, "output_tokens": 24, "cache_read_input_tokens": 384}',
        },
        {
            "openinference.span.kind": "LLM",
            "llm.token_count.prompt": 420,
            "llm.token_count.completion": 24,
            "metadata.usage.cached_prompt_tokens": 384,
        },
        {
            "langsmith.span.kind": "llm",
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 420,
            "gen_ai.usage.output_tokens": 24,
            "langsmith.metadata.usage_metadata": '{"input_tokens": 420, "input_token_details": {"cache_read": 384}}',
        },
        {
            "haystack.component.type": "OpenAIChatGenerator",
            "haystack.component.output": json.dumps(
                {
                    "replies": [
                        {
                            "meta": {
                                "usage": {
                                    "prompt_tokens": 420,
                                    "completion_tokens": 24,
                                    "prompt_tokens_details": {"cached_tokens": 384},
                                }
                            }
                        }
                    ]
                }
            ),
        },
    ],
)
def test_it_counts_tokens(attributes: dict[str, Any]) -> None:
    known = facts(attributes)
    assert (known.input_tokens, known.output_tokens, known.cached_tokens) == (420, 24, 384)
    assert known.cached_apart is False


def test_a_coding_agents_request_leaves_the_cached_ones_out_and_counts_its_first_token_in_ms() -> None:
    known = facts(
        {
            "span.type": "llm_request",
            "model": "m-1",
            "input_tokens": 2,
            "output_tokens": 24,
            "cache_read_tokens": 418,
            "ttft_ms": 250,
            "stop_reason": "tool_use",
            "success": True,
        }
    )
    assert (known.input_tokens, known.cached_tokens, known.cached_apart, known.output_tokens) == (2, 418, True, 24)
    assert (known.request_model, known.finish_reason, known.error) == ("m-1", "tool_use", None)
    assert first_tokens(known) == [(250, None)]


def test_a_coding_agents_tool_may_fail_without_a_status() -> None:
    known = facts({"span.type": "tool", "tool_name": "Bash", "tool_use_id": "c1", "success": False, "error": "exit 1"})
    assert (known.tool, known.tool_call_id, known.tool_failed, known.error) == ("Bash", "c1", True, "exit 1")


@pytest.mark.parametrize("name", ["input_cached_tokens", "input_cache_read", "cache_read_input_tokens"])
def test_langfuse_may_leave_the_cached_ones_out(name: str) -> None:
    usage = json.dumps({"input": 36, "output": 24, name: 384})
    known = facts({"langfuse.observation.type": "generation", "langfuse.observation.usage_details": usage})
    assert (known.input_tokens, known.cached_tokens, known.cached_apart) == (36, 384, True)


@pytest.mark.parametrize(
    ("attributes", "events", "claims"),
    [
        ({"gen_ai.operation.name": "chat", "gen_ai.response.time_to_first_chunk": 0.25}, (), [(250, None)]),
        (
            {
                "haystack.component.type": "OpenAIChatGenerator",
                "haystack.component.output": json.dumps(
                    {"replies": ["Yes."], "meta": [{"completion_start_time": "2026-05-28T20:26:40.250000"}]}
                ),
            },
            (),
            [(250, None)],
        ),
        ({"gen_ai.operation.name": "chat", "gen_ai.server.time_to_first_token": 250}, (), [(250, None)]),
        ({"ai.operationId": "ai.streamText.doStream", "ai.response.msToFirstChunk": 250.5}, (), [(250.5, None)]),
        ({"ai.operationId": "x.doStream"}, (event("ai.stream.firstChunk", 250),), [(250, None)]),
        ({"openinference.span.kind": "LLM"}, (event("First Token Stream Event", 250),), [(250, None)]),
        (
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.completion_start_time": '"2026-05-28T20:26:40.250Z"',
            },
            (),
            [(250, None)],
        ),
        (
            {"mlflow.spanType": '"LLM"'},
            (event("mlflow.chunk.item.0", 250), event("mlflow.chunk.item.1", 260)),
            [(250, None)],
        ),
        ({"mlflow.spanType": '"LLM"'}, (event("mlflow.chunk.item.7", 250),), [(250, "first_chunks_dropped")]),
        (
            {"mlflow.spanType": '"LLM"'},
            (
                event("mlflow.chunk.item.0", 20, **{"mlflow.chunk.value": '{"type": "response.created"}'}),
                event("mlflow.chunk.item.1", 250, **{"mlflow.chunk.value": '{"type": "response.output_text.delta"}'}),
            ),
            [(250, None)],
        ),
        ({"gen_ai.operation.name": "chat"}, (event("gen_ai.content.completion.chunk", 250),), [(250, None)]),
        ({"gen_ai.operation.name": "chat"}, (event("gen_ai.first_token", 250),), [(250, None)]),
        ({"gen_ai.operation.name": "chat"}, (), []),
    ],
)
def test_it_reads_first_tokens(
    attributes: dict[str, Any], events: tuple[Any, ...], claims: list[tuple[float, str | None]]
) -> None:
    assert first_tokens(facts(attributes, events=events)) == claims


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.output.messages": json.dumps(
                [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}]}]
            ),
        },
        {
            "openinference.span.kind": "LLM",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c1",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
        },
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.tool_calls.0.id": "c1",
            "gen_ai.completion.0.tool_calls.0.name": "search",
        },
        {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.response.toolCalls": '[{"toolCallId": "c1", "toolName": "search", "input": "{}"}]',
        },
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.output": json.dumps(
                {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": "{}"}}]}
            ),
        },
        {
            "langsmith.span.kind": "llm",
            "gen_ai.completion": json.dumps(
                {"generations": [[{"message": {"tool_calls": [{"name": "search", "id": "c1", "type": "tool_call"}]}}]]}
            ),
        },
        {
            "haystack.component.type": "OpenAIChatGenerator",
            "haystack.component.output": json.dumps(
                {"replies": [{"content": [{"tool_call": {"tool_name": "search", "arguments": {}, "id": "c1"}}]}]}
            ),
        },
        {
            "logfire.msg_template": "Responses API with {gen_ai.request.model!r}",
            "response": '{"output": [{"type": "function_call", "name": "search", "call_id": "c1", "id": "fc_1"}]}',
        },
    ],
)
def test_it_knows_the_tools_that_an_output_asks_for(attributes: dict[str, Any]) -> None:
    assert facts(attributes).asked == (AskedTool(name="search", call_id="c1"),)


def test_it_reads_tools_asked_for_in_events() -> None:
    message = json.dumps([{"toolUse": {"toolUseId": "c1", "name": "search", "input": {}}}])
    known = facts({"gen_ai.operation.name": "chat"}, events=(event("gen_ai.choice", 900, message=message),))
    assert known.asked == (AskedTool(name="search", call_id="c1"),)


def test_the_engine_speaks_seconds() -> None:
    known = facts({"gen_ai.latency.e2e": 1.5, "gen_ai.latency.time_to_first_token": 0.25, "gen_ai.request.id": "r-1"})
    assert known.engine is not None
    assert (known.engine.e2e_ns, known.engine.ttft_ns, known.engine.queue_ns) == (1_500 * MS, 250 * MS, None)
    assert known.response_id == "r-1"


@pytest.mark.parametrize(
    ("attributes", "session", "user"),
    [
        ({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s", "user.id": "u"}, "s", "u"),
        ({"openinference.span.kind": "AGENT", "session.id": "s", "user.id": "u"}, "s", "u"),
        ({"openinference.span.kind": "AGENT", "metadata": '{"session_id": "s", "user_id": "u"}'}, "s", "u"),
        (
            {
                "traceloop.span.kind": "agent",
                "traceloop.association.properties.session_id": "s",
                "traceloop.association.properties.user_id": "u",
            },
            "s",
            "u",
        ),
        (
            {
                "ai.operationId": "ai.streamText",
                "ai.telemetry.metadata.sessionId": "s",
                "ai.telemetry.metadata.userId": "u",
            },
            "s",
            "u",
        ),
        ({"logfire.msg_template": "OpenAI Agents trace: {name}", "group_id": "s"}, "s", None),
        ({"gen_ai.operation.name": "chat", "llm.user": "u"}, None, "u"),
    ],
)
def test_it_knows_session_and_user(attributes: dict[str, Any], session: str | None, user: str | None) -> None:
    known = facts(attributes)
    assert (known.session, known.user) == (session, user)


def test_the_first_convention_to_know_a_fact_wins_and_the_others_fill_in() -> None:
    known = facts(
        {
            "openinference.span.kind": "LLM",
            "llm.model_name": "m-1",
            "gen_ai.operation.name": "chat",
            "gen_ai.response.model": "m-2",
            "gen_ai.response.id": "r-1",
        }
    )
    assert (known.response_model, known.response_id) == ("m-1", "r-1")


def test_all_conventions_first_tokens_are_kept_in_order() -> None:
    known = facts(
        {"openinference.span.kind": "LLM", "gen_ai.response.time_to_first_chunk": 0.3},
        events=(event("First Token Stream Event", 250),),
    )
    assert [ms for ms, _ in first_tokens(known)] == [250, 300]


@pytest.mark.parametrize(
    ("attributes", "changes", "error"),
    [
        ({"gen_ai.operation.name": "execute_tool"}, {"status": STATUS_ERROR, "status_message": "boom\ntrace"}, "boom"),
        (
            {"gen_ai.operation.name": "execute_tool"},
            {"status": STATUS_ERROR, "events": (event("exception", 5, **{"exception.message": "boom"}),)},
            "boom",
        ),
        ({"gen_ai.operation.name": "execute_tool", "error.type": "Timeout"}, {"status": STATUS_ERROR}, "Timeout"),
        ({"gen_ai.operation.name": "execute_tool", "error.type": "Timeout"}, {}, "Timeout"),
        ({"langfuse.observation.type": "tool", "langfuse.observation.level": "ERROR",
          "langfuse.observation.status_message": "boom"}, {}, "boom"),
        ({}, {"status": STATUS_ERROR}, "error"),
    ],
)  # fmt: skip
def test_it_names_an_error_in_one_line(attributes: dict[str, Any], changes: dict[str, Any], error: str) -> None:
    known = facts(attributes, **changes)
    assert (known.error, known.tool_failed) == (error, True)


FAILED = {"type": "tool", "tool_call_id": "c1", "status": "error", "content": "station offline\nat line 3"}


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (FAILED, "station offline"),
        ({"type": "tool", "data": FAILED}, "station offline"),
        ({"output": {"lc": 1, "kwargs": FAILED}, "kwargs": {"tags": []}}, "station offline"),
        ({"content": [{"type": "text", "text": "station offline"}], "isError": True}, "station offline"),
        ({"content": [], "isError": True}, "error"),
        ({**FAILED, "status": "success"}, None),
        ({"status": "error", "content": "of an order, not of the tool"}, None),
        ({"messages": [FAILED]}, None),
        (["error"], None),
    ],
)
@pytest.mark.parametrize("key", ["gen_ai.tool.call.result", "output.value"])
def test_a_tools_result_may_say_that_it_failed(key: str, result: Any, error: str | None) -> None:
    known = facts({"gen_ai.operation.name": "execute_tool", key: json.dumps(result)})
    assert (known.tool_failed, known.error) == (error is not None, error)


def test_a_span_that_says_nothing_knows_nothing() -> None:
    known = facts({})
    assert (known.input_tokens, known.first_tokens, known.error, known.asked) == (None, (), None, None)

"""What a span stands for, in each convention; attributes decide, never a name."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.semconv import Kind
from ingest.spans import KIND_CLIENT, KIND_SERVER
from tests.unit.semconv.telling import facts


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"gen_ai.operation.name": "chat"}, Kind.CALL),
        ({"gen_ai.operation.name": "generate_content"}, Kind.CALL),
        ({"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 9}, Kind.AGENT),
        ({"gen_ai.operation.name": "create_agent", "gen_ai.request.model": "m"}, Kind.OTHER),
        (
            {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m", "gen_ai.response.model": "m"},
            Kind.OTHER,
        ),
        ({"gen_ai.operation.name": "invoke_workflow"}, Kind.WORKFLOW),
        ({"gen_ai.operation.name": "execute_tool"}, Kind.TOOL),
        ({"gen_ai.request.model": "m", "gen_ai.response.model": "m-1"}, Kind.CALL),
        ({"gen_ai.request.model": "m"}, Kind.OTHER),
        ({"openinference.span.kind": "LLM"}, Kind.CALL),
        ({"openinference.span.kind": "AGENT"}, Kind.AGENT),
        ({"openinference.span.kind": "CHAIN"}, Kind.CHAIN),
        ({"openinference.span.kind": "TOOL"}, Kind.TOOL),
        ({"openinference.span.kind": "RETRIEVER"}, Kind.OTHER),
        ({"traceloop.span.kind": "workflow"}, Kind.WORKFLOW),
        ({"traceloop.span.kind": "tool"}, Kind.TOOL),
        ({"llm.request.type": "chat"}, Kind.CALL),
        ({"ai.operationId": "ai.streamText"}, Kind.AGENT),
        ({"ai.operationId": "ai.streamText.doStream"}, Kind.CALL),
        ({"ai.operationId": "ai.generateText.doGenerate"}, Kind.CALL),
        ({"ai.operationId": "ai.toolCall"}, Kind.TOOL),
        ({"langfuse.observation.type": "generation"}, Kind.CALL),
        ({"langfuse.observation.type": "span"}, Kind.OTHER),
        ({"langfuse.observation.type": "span", "gen_ai.operation.name": "chat"}, Kind.CALL),
        ({"mlflow.spanType": '"CHAT_MODEL"'}, Kind.CALL),
        ({"mlflow.spanType": '"AGENT"'}, Kind.AGENT),
        ({"logfire.msg_template": "Agent run: {name!r}"}, Kind.AGENT),
        ({"logfire.msg_template": "Function: {name}", "name": "search"}, Kind.TOOL),
        ({"mcp.method.name": "tools/call"}, Kind.TOOL),
        ({"mcp.method.name": "tools/list"}, Kind.MCP),
        ({"span.type": "interaction"}, Kind.AGENT),
        ({"span.type": "llm_request"}, Kind.CALL),
        ({"span.type": "tool", "tool_name": "Bash"}, Kind.TOOL),
        ({"span.type": "tool.execution"}, Kind.OTHER),
        ({"haystack.agent.max_steps": 100}, Kind.AGENT),
        ({"haystack.agent.step.llm.output": "{}"}, Kind.OTHER),
        ({"haystack.component.type": "OpenAIChatGenerator"}, Kind.CALL),
        ({"haystack.component.type": "PromptBuilder"}, Kind.CHAIN),
        ({"haystack.tool.name": "search"}, Kind.TOOL),
        ({"lk.agent_label": "support", "gen_ai.operation.name": "invoke_workflow"}, Kind.OTHER),
        ({"lk.function_tool.name": "search"}, Kind.TOOL),
        ({"sixstage.stage": "tool_parsing"}, Kind.STAGE),
        ({"messaging.operation": "create"}, Kind.OTHER),
        ({}, Kind.OTHER),
    ],
)
def test_it_knows_the_kind(attributes: dict[str, Any], kind: Kind) -> None:
    assert facts(attributes).kind is kind


@pytest.mark.parametrize(
    ("attributes", "kind"),
    [
        ({"langsmith.span.kind": "llm"}, Kind.CALL),
        ({"lmnr.span.type": "TOOL"}, Kind.TOOL),
        ({"gen_ai.span.kind": "AGENT"}, Kind.AGENT),
        ({"ai.observability.span_type": "generation"}, Kind.CALL),
        ({"vendor.observation.type": '"chain"'}, Kind.CHAIN),
        ({"mastra.span.type": "model_step"}, Kind.CALL),
        ({"mastra.span.type": "mcp_tool_call"}, Kind.TOOL),
        ({"vendor.span.kind": "retriever"}, Kind.OTHER),
        ({"span.kind": "client"}, Kind.OTHER),
        ({"queue.message.kind": "agent"}, Kind.OTHER),
        ({"vendor.span.kind": "llm", "gen_ai.operation.name": "embeddings"}, Kind.OTHER),
        ({"vendor.span.kind": "llm", "gen_ai.operation.name": "execute_tool"}, Kind.TOOL),
    ],
)
def test_a_convention_that_nobody_knows_is_read_by_the_look_of_its_kind(attributes: dict[str, Any], kind: Kind) -> None:
    assert facts(attributes).kind is kind


def test_a_haystack_agents_model_span_may_have_nothing_but_its_name() -> None:
    assert facts({}, name="haystack.agent.step.llm").kind is Kind.CALL
    assert facts({}, name="haystack.agent.step").kind is Kind.OTHER


def test_an_engines_span_is_no_call() -> None:
    engine = {"gen_ai.latency.e2e": 1.5, "gen_ai.latency.time_to_first_token": 0.3, "gen_ai.response.model": "m"}
    assert facts(engine, kind=KIND_SERVER).kind is Kind.ENGINE


def test_an_http_clients_span_is_told_from_a_servers() -> None:
    assert facts({"http.request.method": "POST"}, kind=KIND_CLIENT).kind is Kind.HTTP
    assert facts({"http.request.method": "POST"}, kind=KIND_SERVER).kind is Kind.OTHER


def test_an_mcp_servers_tool_call_is_told_from_an_agents_tool() -> None:
    both = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    assert facts(both, kind=KIND_SERVER).mcp_side == "server"
    assert facts(both, kind=KIND_CLIENT).mcp_side == "client"
    assert facts({"gen_ai.operation.name": "execute_tool"}).mcp_side is None

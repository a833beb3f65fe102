"""``python -m agents.check_endpoint --url http://host:8000/v1``: does the reference agent work with this endpoint?

For real engines as for the simulated one. Says what the endpoint tells (usage, cached tokens, first token, trace
context) and what it does not; only what the agent cannot do without is a failure.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import httpx

from agents.chat import ChatModel
from agents.errors import AgentError
from agents.loop import Agent
from agents.telemetry import Telemetry
from agents.tools import tool

LONG = "You answer questions about orders of a shop, briefly and politely. " * 40
"""Some 600 tokens: several blocks of any engine's cache."""


@dataclass(frozen=True)
class Finding:
    what: str
    ok: bool
    told: str
    needed: bool = True


async def _look_up_order(number: Literal[7, 8]) -> str:
    """Find an order by its number."""
    return f"Order {number} is on its way."


# Held to its schema by the engine, so that even a model that knows nothing makes a call that fits.
look_up_order = tool(_look_up_order, name="look_up_order", strict=True)


async def findings(
    url: str,
    http: httpx.AsyncClient,
    telemetry: Telemetry,
    name: str = "",
    parameters: Mapping[str, Any] | None = None,
) -> AsyncIterator[Finding]:
    try:
        served = [each["id"] for each in (await http.get(f"{url}/models")).raise_for_status().json()["data"]]
    except (httpx.HTTPError, ValueError, LookupError) as error:
        yield Finding("models", False, f"{type(error).__name__} {error}".rstrip())
        return
    yield Finding("models", bool(served), ", ".join(served))
    model = ChatModel(
        name=name or served[0],
        base_url=url,
        http=http,
        provider="vllm",
        parameters={"max_tokens": 48, "temperature": 0.0, **(parameters or {})},
    )
    async for finding in _turns(model, telemetry):
        yield finding
    yield await _tool_call(model, telemetry)
    yield await _page(url, http)


async def _turns(model: ChatModel, telemetry: Telemetry) -> AsyncIterator[Finding]:
    """Two turns of a conversation, streamed, and one that is not."""
    deltas: list[str] = []
    agent = Agent(name="check", model=model, telemetry=telemetry, instructions=LONG)
    try:
        first = await agent.run("Where is order 7?", on_text=deltas.append)
        again = await agent.run("And order 8?", history=first.messages)
        agent = Agent(name="check", model=_whole(model), telemetry=telemetry, instructions=LONG)
        whole = await agent.run("Where is order 7?")
    except AgentError as error:
        yield Finding("chat", False, str(error))
        return
    answer, cached = first.answers[0], again.answers[0].cached_tokens
    yield Finding("streamed answer", bool(deltas), f"{len(deltas)} pieces, ended by {answer.finish_reason}")
    yield Finding("whole answer", whole.answers[0].finish_reason is not None, f"{len(whole.text)} characters")
    yield Finding("usage", answer.input_tokens is not None, f"{answer.input_tokens} in, {answer.output_tokens} out")
    told = f"{cached} of {again.answers[0].input_tokens} in the second turn"
    yield Finding("cached tokens", cached is not None, told, needed=False)


async def _tool_call(model: ChatModel, telemetry: Telemetry) -> Finding:
    """Forced, since a small model would not think of it: asked for, run, and told to the model."""
    agent = Agent(name="check", model=model, telemetry=telemetry, tools=[look_up_order], must_use_tools=True)
    try:
        result = await agent.run("Where is order 7?")
    except AgentError as error:
        return Finding("tool call", False, str(error)[:200], needed=False)
    asked = [f"{each.name} {each.arguments}" for answer in result.answers for each in answer.tool_requests]
    results = [message["content"] for message in result.messages if message["role"] == "tool"]
    told = f"{'; '.join(asked) or 'none'} → {'; '.join(results) or 'nothing'}"[:300]
    return Finding("tool call", bool(asked) and not result.failed_tools, told, needed=False)


async def _page(url: str, http: httpx.AsyncClient) -> Finding:
    try:
        page = await http.get(url.rstrip("/").removesuffix("/v1") + "/metrics")
        names = {line.split(" ")[2] for line in page.raise_for_status().text.splitlines() if line.startswith("# TYPE")}
    except httpx.HTTPError as error:
        return Finding("/metrics", False, type(error).__name__, needed=False)
    kinds = sorted({name.partition(":")[0] for name in names if ":" in name})
    return Finding("/metrics", bool(kinds), f"{len(names)} families of {', '.join(kinds) or 'no engine'}", needed=False)


def _whole(model: ChatModel) -> ChatModel:
    return dataclasses.replace(model, stream=False)


async def _run(options: argparse.Namespace, say: Callable[[str], None]) -> bool:
    headers = {"Authorization": f"Bearer {options.key}"} if options.key else {}
    good = True
    with Telemetry("check-endpoint", endpoint=options.otlp) as telemetry:
        async with httpx.AsyncClient(timeout=120, headers=headers) as http:
            async for finding in findings(options.url.rstrip("/"), http, telemetry, options.model, options.parameters):
                say(f"{'ok  ' if finding.ok else 'FAIL' if finding.needed else 'no  '} {finding.what}: {finding.told}")
                good &= finding.ok or not finding.needed
    return good


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m agents.check_endpoint", description=__doc__)
    parser.add_argument("--url", required=True, help="ends in /v1, such as http://127.0.0.1:8000/v1")
    parser.add_argument("--model", default="", help="default: the first that the endpoint lists")
    parser.add_argument("--key", default="", help="sent as a bearer token")
    parser.add_argument("--parameters", type=json.loads, default={}, help="JSON to send with each request")
    parser.add_argument("--otlp", default="http://127.0.0.1:4318", help="where the agent's spans go")
    return 0 if asyncio.run(_run(parser.parse_args(), print)) else 1


if __name__ == "__main__":
    sys.exit(main())

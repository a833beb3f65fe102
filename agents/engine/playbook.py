"""What the simulated model says. It understands nothing: a question either has a plan, or it improvises.

    playbook = Playbook()
    playbook.plan("Where is order 7?", Reply(calls=[call("find_order", number=7)]), Reply("It left today."))

The first reply answers the question, the next one comes after the first round of tools, and so on.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import uuid4

from agents.engine.template import pieces

FILLER = (
    "the answer depends on what was found so far and the results say that this is well within the usual "
    "range for orders of this kind so nothing more needs to be done today but we keep an eye on it and "
    "report back when the next figures arrive because they may change the picture in one or two places "
)


@dataclass(frozen=True)
class AskedTool:
    """A tool call in the model's words: ``arguments`` is text, and may be no JSON."""

    name: str
    arguments: str


def call(tool_name: str, /, **arguments: Any) -> AskedTool:
    return AskedTool(tool_name, json.dumps(arguments))


@dataclass(frozen=True)
class Refusal:
    """An engine's failure: an HTTP ``status`` at once, or an error in the stream ``after_tokens``."""

    status: int = 500
    after_tokens: int | None = None
    message: str = "the simulated engine fails here on purpose"


@dataclass(frozen=True)
class Reply:
    """One answer of the model: text, tool calls, or both. ``refusal`` makes the engine fail instead."""

    text: str = ""
    calls: Sequence[AskedTool] = ()
    refusal: Refusal | None = None

    def deltas(self) -> list[dict[str, Any]]:
        """The answer as OpenAI stream deltas, one for each output token."""
        deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces(self.text)]
        for at, asked in enumerate(self.calls):
            head = {
                "index": at,
                "id": f"call_{uuid4().hex[:12]}",  # never seeded: ids must not repeat between runs
                "type": "function",
                "function": {"name": asked.name, "arguments": ""},
            }
            deltas.append({"tool_calls": [head]})
            for piece in pieces(asked.arguments):
                deltas.append({"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        return deltas or [{"content": ""}]  # even an empty answer costs its end token


@dataclass
class Playbook:
    """Plans by question. The oldest are forgotten beyond ``capacity``."""

    seed: int = 0
    capacity: int = 2_000
    _plans: OrderedDict[str, Sequence[Reply]] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def plan(self, question: str, *replies: Reply) -> None:
        self._plans[question] = replies
        while len(self._plans) > self.capacity:
            self._plans.popitem(last=False)

    def reply(self, request: Mapping[str, Any]) -> Reply:
        messages = request["messages"]
        asked_at = max((at for at, message in enumerate(messages) if message["role"] == "user"), default=-1)
        question = str(messages[asked_at].get("content")) if asked_at >= 0 else ""
        rounds = sum(bool(message.get("tool_calls")) for message in messages[asked_at + 1 :])
        plan = self._plans.get(question)
        if plan is None:
            return self._improvise(request, rounds)
        return plan[min(rounds, len(plan) - 1)]

    def _improvise(self, request: Mapping[str, Any], rounds: int) -> Reply:
        """Ask for at most two of the offered tools, with made-up arguments; then answer."""
        tools = request.get("tools") or []
        if tools and not rounds and request.get("tool_choice") != "none":
            chosen = self._random.sample(tools, min(2, len(tools)))
            return Reply(calls=[_made_up(tool["function"]) for tool in chosen])
        return Reply(self.words(self._random.randint(30, 90)))

    def words(self, tokens: int) -> str:
        """Text of about so many tokens."""
        start = FILLER.index(" ", self._random.randrange(len(FILLER) - 1)) + 1
        rolled = FILLER[start:] + FILLER[:start]
        return (rolled * (tokens * 4 // len(FILLER) + 1))[: tokens * 4].strip().capitalize() + "."


def _made_up(function: Mapping[str, Any]) -> AskedTool:
    parameters = function.get("parameters") or {}
    properties = parameters.get("properties") or {}
    required = parameters.get("required", [])
    return AskedTool(function["name"], json.dumps({name: _example(properties[name]) for name in required}))


def _example(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _example(schema["anyOf"][0])
    examples = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}
    return examples.get(schema.get("type", "string"), "example")

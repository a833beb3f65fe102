"""The reference agent: ask the model, run the tools that it asked for side by side, tell it, repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.chat import Answer, ChatModel, Message, ToolRequest
from agents.errors import RoundBudgetError, ToolError, ToolTimeoutError, UnknownToolError
from agents.telemetry import Run, Telemetry
from agents.tools import Tool

Approve = Callable[[Sequence[ToolRequest]], Awaitable[None]]


@dataclass(frozen=True)
class Result:
    """How a run ended. ``messages``, without the instructions, is the next turn's history."""

    text: str
    messages: list[Message]
    answers: list[Answer]
    failed_tools: int = 0

    @property
    def rounds(self) -> int:
        return len(self.answers)


@dataclass(frozen=True)
class _Ready:
    """A tool call that parsing is done with: either fit to run, or known to fail with ``error``."""

    asked: ToolRequest
    tool: Tool | None = None
    arguments: dict[str, Any] = field(default_factory=dict)
    error: ToolError | None = None


@dataclass(frozen=True, kw_only=True)
class Agent:
    """Instructions, a model and tools.

    ``max_rounds`` bounds the calls that may ask for tools; then the model must answer without them.
    ``tool_timeout_s`` bounds each tool. ``approve`` sees the tool calls before they run (a policy check,
    a human); it counts as tool parsing, and ends the run if it raises.
    """

    name: str
    model: ChatModel
    telemetry: Telemetry
    instructions: str = ""
    tools: Sequence[Tool] = ()
    max_rounds: int = 8
    tool_timeout_s: float = 30.0
    approve: Approve | None = None

    async def run(
        self,
        text: str,
        *,
        history: Sequence[Message] = (),
        conversation_id: str | None = None,
        user_id: str | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> Result:
        """Answer ``text``. Raises `ModelError` or `RoundBudgetError`; the model is told of a failed tool."""
        with self.telemetry.agent(self.name, conversation_id=conversation_id, user_id=user_id) as run:
            messages: list[Message] = [*history, {"role": "user", "content": text}]
            run.asked(messages[-1:])
            return await self._rounds(run, messages, on_text)

    def as_tool(self, description: str) -> Tool:
        """This agent as another's tool, with one argument: the ``task``."""

        async def delegate(task: str) -> str:
            return (await self.run(task)).text

        delegate.__doc__ = description
        return Tool(
            name=self.name,
            description=description,
            function=delegate,
            parameters={
                "type": "object",
                "properties": {"task": {"type": "string"}},
                "required": ["task"],
                "additionalProperties": False,
            },
        )

    async def _rounds(self, run: Run, messages: list[Message], on_text: Callable[[str], None] | None) -> Result:
        system = [{"role": "system", "content": self.instructions}] if self.instructions else []
        definitions = [tool.definition for tool in self.tools]
        answers: list[Answer] = []
        failed = 0
        for at in range(self.max_rounds + 1):
            answer = await self.model.answer(
                system + messages,
                self.telemetry,
                tools=definitions,
                tool_choice="auto" if at < self.max_rounds else "none",
                on_text=on_text,
            )
            answers.append(answer)
            messages.append(answer.message)
            if not answer.tool_requests:
                run.answered(answer.text, answer.finish_reason)
                return Result(answer.text, messages, answers, failed)
            if at < self.max_rounds:
                results = await self._use_tools(answer.tool_requests)
                failed += sum(not ok for ok, _ in results)
                messages += [message for _, message in results]
        raise RoundBudgetError(f"{self.name} still asked for tools after {self.max_rounds} rounds of them")

    async def _use_tools(self, asked: Sequence[ToolRequest]) -> list[tuple[bool, Message]]:
        """Run the tools of a round side by side; results in the order in which the model asked."""
        with self.telemetry.tool_parsing():
            ready = [self._parse(each) for each in asked]
            if self.approve:
                await self.approve(asked)
        async with asyncio.TaskGroup() as group:  # cancelling the run cancels its tools
            tasks = [group.create_task(self._use_tool(each)) for each in ready]
        return [task.result() for task in tasks]

    def _parse(self, asked: ToolRequest) -> _Ready:
        tool = next((tool for tool in self.tools if tool.name == asked.name), None)
        try:
            if tool is None:
                known = ", ".join(tool.name for tool in self.tools) or "none"
                raise UnknownToolError(f"There is no tool {asked.name!r}. Tools: {known}")
            return _Ready(asked, tool, tool.parse(asked.arguments))
        except ToolError as error:
            return _Ready(asked, error=error)

    async def _use_tool(self, ready: _Ready) -> tuple[bool, Message]:
        asked = ready.asked
        try:
            # A call that cannot run gets its span too: for whoever reads the trace it is a tool that failed.
            with self.telemetry.tool(asked.name, call_id=asked.call_id, arguments=asked.arguments) as span:
                result = await self._result(ready)
                span.answered(result)
            ok = True
        except Exception as error:  # the model is told; the run goes on
            ok, result = False, f"Error: {error}" if isinstance(error, ToolError) else f"Error: {error!r}"
        return ok, {"role": "tool", "tool_call_id": asked.call_id, "content": result}

    async def _result(self, ready: _Ready) -> str:
        if ready.error or not ready.tool:
            raise ready.error or UnknownToolError(ready.asked.name)
        limit_s = ready.tool.timeout_s or self.tool_timeout_s
        deadline = asyncio.timeout(limit_s)
        try:
            async with deadline:
                return await ready.tool.run(ready.arguments)
        except TimeoutError:
            if not deadline.expired():
                raise  # the tool's own time-out, not ours
            raise ToolTimeoutError(f"{ready.tool.name} took longer than {limit_s:g} s")

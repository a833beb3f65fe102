"""The reference agent: ask the model, run the tools that it asked for side by side, tell it, repeat."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

from agents.chat import Answer, ChatModel, Message, ToolRequest
from agents.errors import (
    RoundBudgetError,
    TimeBudgetError,
    TokenBudgetError,
    ToolError,
    ToolRefusedError,
    ToolTimeoutError,
    UnknownToolError,
)
from agents.techniques.bounded_tools import BoundedTools, Job, Outcome, Status
from agents.techniques.semantic_cache import Scope, SemanticCache
from agents.telemetry import Run, Telemetry, ToolRun
from agents.tools import Tool

Approve = Callable[[Sequence[ToolRequest]], Awaitable[None]]
Shares = Callable[[str, str | None], Scope | None]


def only_their_own(question: str, user_id: str | None) -> Scope | None:
    """Users find the answers that they got themselves; without a user nothing is kept."""
    return None if user_id is None else Scope("", user_id)


@dataclass(frozen=True)
class Result:
    """How a run ended. ``messages``, without the instructions, is the next turn's history."""

    text: str
    messages: list[Message]
    answers: list[Answer]
    failed_tools: int = 0
    cached: bool = False
    """From the semantic cache; no model was asked."""

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

    ``max_rounds`` bounds the calls that may ask for tools; then the model must answer without them. With
    ``must_use_tools`` the first call has to ask for one.
    ``tool_timeout_s`` bounds each tool. ``approve`` sees the tool calls before they run (a policy check,
    a human); it counts as tool parsing, and ends the run if it raises. ``token_budget`` bounds input and output of
    all calls of a run together, as far as the endpoint tells them, and ``time_budget_s`` the whole run. ``bounded``
    limits how many tools run at once; without it a round's tools all do. ``cache`` is asked before the model where a
    conversation begins, and keeps what was answered without tools: later turns and tools' results are about more than
    the question. ``shares`` says, by question and user, whose answers may be found; None: the
    cache is not for this one.
    """

    name: str
    model: ChatModel
    telemetry: Telemetry
    instructions: str = ""
    tools: Sequence[Tool] = ()
    max_rounds: int = 8
    must_use_tools: bool = False
    tool_timeout_s: float = 30.0
    token_budget: int | None = None
    time_budget_s: float | None = None
    bounded: BoundedTools | None = None
    approve: Approve | None = None
    cache: SemanticCache | None = None
    shares: Shares = only_their_own

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
            deadline = asyncio.timeout(self.time_budget_s)
            try:
                async with deadline:
                    scope = self.shares(text, user_id) if self.cache and not history else None
                    if self.cache is None or scope is None:
                        return await self._rounds(run, messages, on_text)
                    return await self._by_cache(self.cache, scope, text, run, messages, on_text)
            except TimeoutError as error:
                if not deadline.expired():
                    raise
                raise TimeBudgetError(f"{self.name} took longer than {self.time_budget_s:g} s") from error

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

    async def _by_cache(
        self,
        cache: SemanticCache,
        scope: Scope,
        text: str,
        run: Run,
        messages: list[Message],
        on_text: Callable[[str], None] | None,
    ) -> Result:
        if hit := await cache.find(scope, text, telemetry=self.telemetry):
            run.answered(hit.answer)
            if on_text:
                on_text(hit.answer)
            return Result(hit.answer, [*messages, {"role": "assistant", "content": hit.answer}], [], cached=True)
        result = await self._rounds(run, messages, on_text)
        if result.rounds == 1 and result.answers[0].finish_reason == "stop":  # whole, and from the question alone
            await cache.keep(scope, text, result.text)
        return result

    async def _rounds(self, run: Run, messages: list[Message], on_text: Callable[[str], None] | None) -> Result:
        system = [{"role": "system", "content": self.instructions}] if self.instructions else []
        definitions = [tool.definition for tool in self.tools]
        answers: list[Answer] = []
        failed = used = 0
        for at in range(self.max_rounds + 1):
            answer = await self.model.answer(
                system + messages,
                self.telemetry,
                tools=definitions,
                tool_choice=self._tool_choice(at),
                on_text=on_text,
            )
            answers.append(answer)
            messages.append(answer.message)
            if not answer.tool_requests:
                run.answered(answer.text, answer.finish_reason)
                return Result(answer.text, messages, answers, failed)
            used += (answer.input_tokens or 0) + (answer.output_tokens or 0)
            if self.token_budget is not None and used >= self.token_budget:
                raise TokenBudgetError(f"{self.name} used {used} tokens of {self.token_budget} and has no answer yet")
            if at < self.max_rounds:
                results = await self._use_tools(answer.tool_requests)
                failed += sum(not ok for ok, _ in results)
                messages += [message for _, message in results]
        raise RoundBudgetError(f"{self.name} still asked for tools after {self.max_rounds} rounds of them")

    def _tool_choice(self, at: int) -> str:
        if at >= self.max_rounds:
            return "none"
        return "required" if self.must_use_tools and not at else "auto"

    async def _use_tools(self, asked: Sequence[ToolRequest]) -> list[tuple[bool, Message]]:
        """Run the tools of a round side by side; results in the order in which the model asked."""
        with self.telemetry.tool_parsing():
            ready = [self._parse(each) for each in asked]
            if self.approve:
                await self.approve(asked)
        if self.bounded:
            return await self._use_bounded(self.bounded, ready)
        async with asyncio.TaskGroup() as group:  # cancelling the run cancels its tools
            tasks = [group.create_task(self._use_tool(each)) for each in ready]
        return [task.result() for task in tasks]

    async def _use_bounded(self, bounded: BoundedTools, ready: Sequence[_Ready]) -> list[tuple[bool, Message]]:
        """What cannot run needs no place, and is no failure of the tool's."""
        jobs = [
            Job(each.asked.name, functools.partial(self._used, each), each.tool.timeout_s or self.tool_timeout_s)
            for each in ready
            if each.tool and not each.error
        ]
        outcomes = iter(await bounded.run(jobs))
        return [
            self._outcome(each, next(outcomes)) if each.tool and not each.error else await self._use_tool(each)
            for each in ready
        ]

    def _outcome(self, ready: _Ready, outcome: Outcome) -> tuple[bool, Message]:
        """What the model is told. A tool that was never started gets its span here, so that the trace has it."""
        if outcome.status in (Status.NOT_STARTED, Status.REFUSED):
            why = "the round's time was over" if outcome.status is Status.NOT_STARTED else "it failed too often lately"
            with suppress(ToolRefusedError), self._span(ready):
                raise ToolRefusedError(f"{ready.asked.name} was not started: {why}")
            return _message(ready.asked, ToolRefusedError(f"{ready.asked.name} was not started: {why}"))
        if outcome.status is Status.TIMED_OUT:
            seconds = (outcome.ran_ns or 0) / 1e9
            return _message(ready.asked, ToolTimeoutError(f"{ready.asked.name} was stopped after {seconds:.3g} s"))
        return _message(ready.asked, outcome.error or outcome.result)

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
        try:
            return _message(ready.asked, await self._used(ready))
        except Exception as error:  # the model is told; the run goes on
            return _message(ready.asked, error)

    async def _used(self, ready: _Ready) -> str:
        # A call that cannot run gets its span too: for whoever reads the trace it is a tool that failed.
        with self._span(ready) as span:
            result = await self._result(ready)
            span.answered(result)
            return result

    def _span(self, ready: _Ready) -> AbstractContextManager[ToolRun]:
        asked = ready.asked
        return self.telemetry.tool(asked.name, call_id=asked.call_id, arguments=asked.arguments)

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


def _message(asked: ToolRequest, result: str | BaseException) -> tuple[bool, Message]:
    """Whether it worked, and the message for the model."""
    if isinstance(result, ToolError):
        text = f"Error: {result}"
    else:
        text = f"Error: {result!r}" if isinstance(result, BaseException) else result
    return not isinstance(result, BaseException), {"role": "tool", "tool_call_id": asked.call_id, "content": text}

"""Decorators for functions that are a whole run or a whole tool.

@told_as_tool(telemetry)
async def look_up_order(number: int) -> str: ...
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, TypeVar, cast

from agents.telemetry.spans import Telemetry

F = TypeVar("F", bound=Callable[..., Any])


def told_as_agent(telemetry: Telemetry, *, name: str = "") -> Callable[[F], F]:
    """Each call of the function is a run of the agent ``name`` (the function's own, if not given)."""

    def decorate(function: F) -> F:
        return _around(function, lambda _: telemetry.agent(name or function.__name__))

    return decorate


def told_as_tool(telemetry: Telemetry, *, name: str = "") -> Callable[[F], F]:
    """Each call of the function is an execution of the tool ``name``; its arguments are told as its JSON."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)

        def opened(given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
            bound = signature.bind(*given[0], **given[1]).arguments if telemetry.capture_content else {}
            text = json.dumps(dict(bound), ensure_ascii=False, default=str) if bound else ""
            return telemetry.tool(name or function.__name__, arguments=text)

        def answered(span: Any, result: Any) -> None:
            span.answered(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str))

        return _around(function, opened, answered)

    return decorate


def _around(
    function: F,
    opened: Callable[[tuple[tuple[Any, ...], dict[str, Any]]], Any],
    answered: Callable[[Any, Any], None] = lambda span, result: None,
) -> F:
    """The function inside the span; a coroutine function stays one."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            with opened((args, kwargs)) as span:
                result = await function(*args, **kwargs)
                answered(span, result)
                return result

        return cast(F, awaited)

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with opened((args, kwargs)) as span:
            result = function(*args, **kwargs)
            answered(span, result)
            return result

    return cast(F, called)

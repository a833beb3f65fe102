"""What can go wrong in an agent, and what each means for the run.

    AgentError
    ├── ModelError           the run ends: there is no answer to go on from
    ├── RoundBudgetError     the run ends: the model kept asking for tools
    ├── TokenBudgetError     the run ends: it has used up its tokens
    ├── TimeBudgetError      the run ends: it has used up its time
    └── ToolError            the run goes on: the model is told, and may do better
        ├── UnknownToolError
        ├── MalformedArgumentsError
        ├── ToolTimeoutError
        ├── ToolRefusedError
        └── McpError

``error_type`` is what spans carry as ``error.type``: few values, so that they can be counted.
"""

from __future__ import annotations


class AgentError(Exception):
    """Base of all errors that the loop raises itself."""

    error_type = "agent_error"


class ModelError(AgentError):
    """The model gave no usable answer. ``status`` is the HTTP status, where there was one."""

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        error_type: str = "model_error",
        transient: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        """``transient``: the same request may do better later."""
        super().__init__(message)
        self.status, self.transient, self.retry_after_s = status, transient, retry_after_s
        self.error_type = str(status) if status else error_type  # as the conventions name HTTP failures


class RoundBudgetError(AgentError):
    """The model still asked for tools when it had used up its rounds."""

    error_type = "round_budget_exceeded"


class TokenBudgetError(AgentError):
    """The run's calls have used more tokens than it may."""

    error_type = "token_budget_exceeded"


class TimeBudgetError(AgentError):
    """The run took longer than it may."""

    error_type = "time_budget_exceeded"


class ToolError(AgentError):
    """A tool gave no result. The model gets the message as the result."""

    error_type = "tool_error"


class UnknownToolError(ToolError):
    """The model asked for a tool that it was never offered."""

    error_type = "unknown_tool"


class MalformedArgumentsError(ToolError):
    """The model's arguments are not JSON, or do not fit the tool's signature."""

    error_type = "malformed_arguments"


class ToolTimeoutError(ToolError):
    """The tool took longer than it may."""

    error_type = "timeout"


class ToolRefusedError(ToolError):
    """The tool was not started: it failed too often lately, or its round's time was over."""

    error_type = "tool_refused"


class McpError(ToolError):
    """An MCP server gave an error, or is gone."""

    error_type = "mcp_error"

"""What can go wrong in an agent, and what each means for the run.

    AgentError
    ├── ModelError           the run ends: there is no answer to go on from
    ├── RoundBudgetError     the run ends: the model kept asking for tools
    └── ToolError            the run goes on: the model is told, and may do better
        ├── UnknownToolError
        ├── MalformedArgumentsError
        └── ToolTimeoutError

``error_type`` is what spans carry as ``error.type``: few values, so that they can be counted.
"""

from __future__ import annotations


class AgentError(Exception):
    """Base of all errors that the loop raises itself."""

    error_type = "agent_error"


class ModelError(AgentError):
    """The model gave no usable answer. ``status`` is the HTTP status, where there was one."""

    def __init__(self, message: str, *, status: int | None = None, error_type: str = "model_error") -> None:
        super().__init__(message)
        self.status = status
        self.error_type = str(status) if status else error_type  # as the conventions name HTTP failures


class RoundBudgetError(AgentError):
    """The model still asked for tools when it had used up its rounds."""

    error_type = "round_budget_exceeded"


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

"""The facts that a span can tell, in one vocabulary for all conventions."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from ingest.frozen import Frozen

# What one adapter found: a subset of the fields of Facts. An absent key is "does not say".
Told = dict[str, Any]


class Kind(StrEnum):
    """What a span stands for."""

    __hash__ = str.__hash__

    AGENT = "agent"
    WORKFLOW = "workflow"  # a named piece of work that may be a run: a workflow, a task
    CHAIN = "chain"  # a step of a framework; a run only where the trace has no agent
    CALL = "call"
    TOOL = "tool"
    ENGINE = "engine"  # the inference engine's own span of a request
    HTTP = "http"  # an HTTP client's span
    MCP = "mcp"  # MCP traffic that is no tool call
    STAGE = "stage"  # a span that is exactly one stage
    OTHER = "other"


# Python 3.11 looks up a member of an enum by a function of its metaclass, and hashes it by another: in a module that
# asks for every span these names are ten times as quick.
AGENT, WORKFLOW, CHAIN, CALL, TOOL, ENGINE, HTTP, MCP, STAGE, OTHER = Kind


class FirstToken(Frozen, frozen=True, kw_only=True):
    """A claim about when the first output token came.

    ``unix_ns`` is the instant it claims; ``where`` names the attribute or event; ``doubt`` the reason, known
    from the convention alone, not to believe it; ``chunk`` says that it counts a chunk of the stream, which
    may hold no token.
    """

    unix_ns: int
    where: str
    doubt: str | None = None
    chunk: bool = False


class EngineTimes(Frozen, frozen=True, kw_only=True):
    """Durations in nanoseconds by the engine's own clocks; None where its version does not tell one."""

    ttft_ns: int | None = None
    e2e_ns: int | None = None
    queue_ns: int | None = None
    prefill_ns: int | None = None
    decode_ns: int | None = None


class AskedTool(Frozen, frozen=True, kw_only=True):
    """A tool that a model's output asks for."""

    name: str | None
    call_id: str | None


class Facts(Frozen, frozen=True, kw_only=True):
    """All that one span tells. None is "does not say"; token counts are never guessed.

    ``input_tokens`` as told; ``cached_apart`` says that it leaves the cached ones out. ``first_tokens`` come
    best first. ``asked`` are the tools that the output asks for, None where the output is not shown;
    ``shows_text`` tells, of an output that asks for tools, whether it has words beside them. ``cache_result`` is
    what a cache of answers gave: ``exact``, ``similar`` or ``miss``.
    """

    kind: Kind = Kind.OTHER
    stage: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    provider: str | None = None
    response_id: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cached_apart: bool = False
    output_tokens: int | None = None
    streamed: bool | None = None
    finish_reason: str | None = None
    first_tokens: tuple[FirstToken, ...] = ()
    engine: EngineTimes | None = None
    asked: tuple[AskedTool, ...] | None = None
    shows_text: bool | None = None
    tool: str | None = None
    tool_call_id: str | None = None
    tool_failed: bool = False
    prefetch: bool = False
    cache_result: str | None = None
    attempt: int | None = None
    agent: str | None = None
    session: str | None = None
    user: str | None = None
    error: str | None = None
    mcp_side: str | None = None
    http_status: int | None = None


NOTHING = Facts()

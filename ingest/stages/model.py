"""The words of the latency model and the shape of an answer.

A breakdown is exact by construction, and its type refuses anything else: six stages and four outside times
add up to the run's wall time in integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from ingest.frozen import Frozen


class Stage(StrEnum):
    """The six stages, in the order in which every bar draws them."""

    __hash__ = str.__hash__

    PREFILL = "prefill"
    DECODE = "decode"
    TOOL_PARSING = "tool_parsing"
    TOOL_EXECUTION = "tool_execution"
    RE_ENCODING = "re_encoding"
    CONTINUE_DECODE = "continue_decode"


class Outside(StrEnum):
    """The four times outside the six stages, in the order in which every bar draws them."""

    __hash__ = str.__hash__

    QUEUE = "queue"
    TRANSPORT = "transport"
    MODEL_UNSPLIT = "model_unsplit"
    ORCHESTRATION = "orchestration"


class Source(StrEnum):
    """Where a figure comes from, best first."""

    __hash__ = str.__hash__

    ENGINE = "engine"
    CLIENT = "client"
    DERIVED = "derived"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


Owner = Stage | Outside

# Quicker than by their enums: see ``ingest.semconv.facts``.
PREFILL, DECODE, TOOL_PARSING, TOOL_EXECUTION, RE_ENCODING, CONTINUE_DECODE = Stage
QUEUE, TRANSPORT, MODEL_UNSPLIT, ORCHESTRATION = Outside
BY_ENGINE, BY_CLIENT, DERIVED, ESTIMATED, UNKNOWN = Source


class Oddity(Frozen, frozen=True, kw_only=True):
    """Something odd about a run that its reader should know.

    ``code`` is stable and documented; ``text`` is a sentence with its figures; ``span_id`` the span it is
    about, if it is about one.
    """

    code: str
    text: str
    span_id: str | None = None


class Phase(Frozen, frozen=True, kw_only=True):
    """An elementary interval of the run and who owns it. Phases of a run tile its wall time without a gap."""

    start_unix_ns: int
    end_unix_ns: int
    owner: Owner
    span_id: str | None
    source: Source


class Breakdown(Frozen, frozen=True, kw_only=True):
    """Who owned each nanosecond of a run.

    ``busy_ns`` is the plain sum of durations by stage, overlap counted as often as it happened.
    ``sources_ns`` says how much of a stage came from which source; ``sources`` names the weakest, or None
    for a stage the run does not have.
    """

    wall_ns: int
    stages_ns: Mapping[Stage, int]
    outside_ns: Mapping[Outside, int]
    busy_ns: Mapping[Stage, int]
    sources: Mapping[Stage, Source | None]
    sources_ns: Mapping[Stage, Mapping[Source, int]]

    def __post_init__(self) -> None:
        parts = [*self.stages_ns.values(), *self.outside_ns.values()]
        if len(self.stages_ns) != len(Stage) or len(self.outside_ns) != len(Outside):
            raise ValueError("a breakdown names all six stages and all four outside times")
        if min(parts) < 0:
            raise ValueError("no stage is shorter than nothing")
        if sum(parts) != self.wall_ns:
            raise ValueError("stages and outside times must add up to the wall time exactly")


class Call(Frozen, frozen=True, kw_only=True):
    """One model call, however many spans told of it. Unknown is None, never 0.

    ``round`` counts from 1 within the call's scope; ``scope`` is 0 for the run's own calls and rises with
    each level of sub-agent. ``input_tokens`` includes cached ones. ``ttft_ns`` counts from
    ``start_unix_ns`` to the first output token; ``first_token_unix_ns`` is the same as an instant.
    """

    span_id: str
    model: str | None
    engine: str | None
    provider: str | None
    start_unix_ns: int
    wall_ns: int
    queue_ns: int | None
    prefill_ns: int | None
    decode_ns: int | None
    transport_ns: int | None
    ttft_ns: int | None
    tpot_ns: int | None
    first_token_unix_ns: int | None
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    carries_tool_results: bool
    streamed: bool | None
    source: Source
    attempts: int
    error: str | None
    finish_reason: str | None
    response_id: str | None
    round: int
    scope: int
    parent_span_id: str | None


class Tool(Frozen, frozen=True, kw_only=True):
    """One tool call. ``ok`` is None where nobody knows (an abandoned tool); ``pseudo`` marks hand-offs and
    final-answer tools that do no work and stay out of success rates."""

    span_id: str
    name: str
    call_id: str | None
    start_unix_ns: int
    wall_ns: int
    ok: bool | None
    error: str | None
    round: int
    scope: int
    transport_ns: int | None
    attempts: int
    abandoned: bool
    pseudo: bool
    agent: bool


class Run(Frozen, frozen=True, kw_only=True):
    """What an agent did, as far as its spans tell.

    ``root_ended`` is False while only children have been seen, so the run may still go on. ``ttft_ns`` is
    the run's start to the first token of its final answer; ``first_token_ns`` to the first token of any
    call of its own that a user could have seen.
    """

    trace_id: str
    root_span_id: str
    root_ended: bool
    name: str
    service: str | None
    agent: str | None
    version: str | None
    environment: str | None
    session_id: str | None
    user_id: str | None
    model: str | None
    engine: str | None
    status: str
    error: str | None
    start_unix_ns: int
    breakdown: Breakdown
    ttft_ns: int | None
    first_token_ns: int | None
    ttft_sum_ns: int | None
    rounds: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    calls: tuple[Call, ...] = ()
    tools: tuple[Tool, ...] = ()
    phases: tuple[Phase, ...] = ()
    warnings: tuple[Oddity, ...] = ()

    @property
    def run_id(self) -> str:
        return f"{self.trace_id}-{self.root_span_id}"

    @property
    def end_unix_ns(self) -> int:
        return self.start_unix_ns + self.breakdown.wall_ns


class Decomposition(Frozen, frozen=True, kw_only=True):
    """What one trace holds. ``duplicate_spans`` counts spans that came more than once (the last one won)."""

    runs: tuple[Run, ...] = ()
    spans: int = 0
    duplicate_spans: int = 0
    warnings: tuple[Oddity, ...] = ()

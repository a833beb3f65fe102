"""What the API answers. Absolute times are strings of Unix nanoseconds, durations integers, unknown is null."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Schema
from pydantic import BeforeValidator, ConfigDict, Field

from dashboard import verdicts as judged
from ingest.read.values import RunDetail

UnixNs = Annotated[str, BeforeValidator(str), Field(pattern=r"^-?\d+$", examples=["1795976800175267760"])]
MaybeUnixNs = Annotated[str | None, BeforeValidator(lambda ns: None if ns is None else str(ns))]


Amount = Annotated[
    str | None,
    Field(description="exact, in units of the currency; null where no call's cost is known", examples=["0.004185"]),
]
UNKNOWN_CALLS = "calls whose cost is unknown, which are not in the sum; null without any price"
AT_MOST_CALLS = "calls in the sum that tell no cached tokens, though these have a price of their own: none are assumed"


class Shape(Schema):
    model_config = ConfigDict(from_attributes=True)


class RunSummary(Shape):
    """A run as lists show it. The six stages and four outside times add up to ``wall_ns`` exactly."""

    run_id: str
    trace_id: str
    session_id: str | None
    user_id: str | None
    name: str
    service: str | None
    agent: str | None
    version: str | None
    environment: str | None
    model: str | None
    models: list[str]
    engine: str | None
    tool_names: list[str]
    status: str = Field(description="ok or error")
    error: str | None
    provisional: bool = Field(description="True while later spans may still change the run")
    root_ended: bool
    start_unix_ns: UnixNs
    end_unix_ns: UnixNs
    wall_ns: int
    stages_ns: dict[str, int]
    outside_ns: dict[str, int]
    busy_ns: dict[str, int]
    sources: dict[str, str | None]
    sources_ns: dict[str, dict[str, int]]
    ttft_ns: int | None
    first_token_ns: int | None
    ttft_sum_ns: int | None
    rounds: int
    spans: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    tool_count: int
    tool_failures: int
    warning_count: int
    currency: str | None
    cost: Amount
    cost_unknown_calls: int | None = Field(description=UNKNOWN_CALLS)
    cost_at_most_calls: int | None = Field(description=AT_MOST_CALLS)


class EngineMoment(Shape):
    """One scrape, of the call's model where the page tells models apart. Totals count since the server's start."""

    at_unix_ns: UnixNs
    running: float | None
    waiting: float | None
    kv_usage: float | None
    preemptions_total: float | None
    prefix_queries_total: float | None
    prefix_hits_total: float | None
    generation_tokens_total: float | None


class EngineAround(Shape):
    """What the engine was doing: the samples before, during and after the call, and what they explain in words. Counts
    are from the one before to the one after, so they hold what came shortly before and after the call, too."""

    before: EngineMoment | None
    during: list[EngineMoment]
    after: EngineMoment | None
    most_running: float | None
    most_waiting: float | None
    most_kv_usage: float | None
    preempted: float | None
    hit_rate: float | None
    prompt_tokens: float | None
    computed_tokens: float | None = Field(description="prompt tokens that no cache had, of all requests")
    started_before_ns: int | None = Field(description="how long before the call the server's process had begun")
    restarted: bool
    words: list[str]
    slow_first_token: bool


class EngineState(Shape):
    engine_id: int
    engine_name: str
    joined_by: str = Field(description="engine span, server address or model")
    state: EngineAround


class Call(Shape):
    span_id: str
    parent_span_id: str | None
    model: str | None
    engine: str | None
    provider: str | None
    start_unix_ns: UnixNs
    wall_ns: int
    queue_ns: int | None
    prefill_ns: int | None
    decode_ns: int | None
    transport_ns: int | None
    ttft_ns: int | None
    tpot_ns: int | None
    first_token_unix_ns: MaybeUnixNs
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    carries_tool_results: bool
    streamed: bool | None
    source: str
    attempts: int
    error: str | None
    finish_reason: str | None
    round: int
    scope: int
    engine_state: EngineState | None = Field(description="null where its engine is not known or not scraped")
    cost: Amount


class Tool(Shape):
    span_id: str
    name: str
    start_unix_ns: UnixNs
    wall_ns: int
    ok: bool | None
    error: str | None
    round: int
    scope: int
    transport: int | None = Field(validation_alias="transport_ns", description="nanoseconds; null where unknown")
    attempts: int
    abandoned: bool
    pseudo: bool
    agent: bool


class Warning(Shape):
    code: str
    text: str
    span_id: str | None


class Phase(Shape):
    """Who owned an interval of the run; offsets in nanoseconds from its start."""

    start_ns: int
    end_ns: int
    owner: str
    source: str
    span_id: str | None


class Finding(Shape):
    """Why the run took so long, in a sentence, and the numbers that it rests on, each of which follows from the run's
    other fields."""

    code: str
    owner: str | None = Field(description="the stage or outside time that it explains")
    text: str
    numbers: dict[str, int | float]
    spans: list[str]
    saves_at_most_ns: int | None = Field(
        description="what `action` could win back, and no more; bounds of several findings overlap. null: not bounded"
    )
    action: str
    estimated: bool


class Verdict(Shape):
    headline: Finding = Field(description="what cost most")
    findings: list[Finding] = Field(description="those that explain it first, then by what could be won back")


class RunWhole(RunSummary):
    calls: list[Call]
    tools: list[Tool]
    warnings: list[Warning]
    phases: list[Phase]
    verdict: Verdict

    @staticmethod
    def resolve_verdict(run: RunDetail) -> judged.Verdict:
        """Worked out when it is asked for: it is a function of the other fields."""
        return judged.judge(run)


class RunList(Shape):
    runs: list[RunSummary]
    next_cursor: str | None
    looked_from_unix_ns: MaybeUnixNs = Field(
        description="set where the time was up first: nothing that ended earlier was looked at"
    )


class Span(Shape):
    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int
    status: int
    status_message: str
    start_unix_ns: UnixNs
    end_unix_ns: UnixNs
    service: str | None
    scope_name: str
    attributes: dict[str, Any] | None
    events: list[dict[str, Any]] | None
    resource: dict[str, Any] | None


class TraceWhole(Shape):
    trace_id: str
    runs: list[str]
    spans: list[Span]


class Problem(Shape):
    detail: str
    at: int | None = Field(None, description="the character of q, from 0, at which it cannot be read")


class Distribution(Shape):
    """Quantiles from log bins, within 1 %; null without samples."""

    count: int
    p50_ns: int | None
    p90_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    sum_ns: int | None
    mean_ns: int | None


class Band(Shape):
    """Of the runs whose measured TTFT lies between two bounds, how many completed: their root ended, without error."""

    from_ns: int
    to_ns: int | None
    runs: int
    completed: int


class Chain(Shape):
    """The phases of an agent's chain, summed over all runs; they add up to the sum of their wall times exactly."""

    network_ns: int
    queue_ns: int
    intent_ns: int = Field(description="models before any tool's result, and parsing of their tool calls")
    tools_ns: int
    final_ns: int = Field(description="models on tools' results")
    unsplit_ns: int = Field(description="models, of which nobody tells how to split it")
    own_ns: int = Field(description="the agent itself: before, between and after, post-processing included")
    model_share: float | None


class RunFigures(Shape):
    """Of runs that ended in the range. ``totals_ns`` add up to the sum of their wall times exactly; quantiles of the
    stages that models make leave out ``unsplit`` runs, those of TTFT ``estimated`` ones."""

    count: int
    failed: int
    error_rate: float | None
    errors: dict[str, int]
    wall: Distribution
    ttft: Distribution
    first_token: Distribution
    ttft_sum: Distribution
    stages: dict[str, Distribution]
    outside: dict[str, Distribution]
    totals_ns: dict[str, int]
    chain: Chain
    completion: list[Band]
    unsplit: int
    estimated: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cacheable_tokens: int = Field(description="input tokens of those whose cached tokens are known")
    cache_hit_rate: float | None


class CallFigures(Shape):
    """Of model calls that ended in the range; quantiles of their split leave out ``estimated`` ones."""

    count: int
    failed: int
    error_rate: float | None
    errors: dict[str, int]
    wall: Distribution
    queue: Distribution
    prefill: Distribution
    decode: Distribution
    ttft: Distribution
    tpot: Distribution
    estimated: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cacheable_tokens: int
    cache_hit_rate: float | None
    cost: Amount
    cost_unknown_calls: int = Field(description="calls whose cost is unknown, which are not in the sum")
    cost_at_most_calls: int = Field(description=AT_MOST_CALLS)


class ToolFigures(Shape):
    """Of tool calls that ended in the range, hand-offs and final answers left out."""

    count: int
    failed: int
    unknown: int = Field(description="of which nobody knows how they ended; not in success_rate")
    success_rate: float | None
    errors: dict[str, int]
    wall: Distribution


class Figures(Shape):
    runs: RunFigures | None
    calls: CallFigures | None
    tools: ToolFigures | None


class Group(Shape):
    value: str | None
    is_other: bool = Field(description="True for all values beyond the bound together")
    figures: Figures


class SummaryStep(Shape):
    from_unix_ns: UnixNs
    to_unix_ns: UnixNs
    groups: list[Group]
    total: Figures | None


class Summary(Shape):
    from_unix_ns: UnixNs
    to_unix_ns: UnixNs
    zone: str
    step: str | None
    currency: str | None = Field(description="of every cost; null without any price")
    group_by: str | None
    made_from: str = Field(description="rollups or rows; both give the same digits")
    made_from_by: dict[str, str]
    looked_from_unix_ns: MaybeUnixNs = Field(
        description="set where the time was up before all rows were counted: nothing that ended earlier is in"
    )
    runs: int | None = Field(description="over how many runs")
    groups: list[Group]
    total: Figures | None = Field(description="null when grouped by model or tool, where a run may count several times")
    steps: list[SummaryStep]


class Price(Shape):
    """What a model costs from midnight (in the project's zone) of a date on, until the next price of the same name.
    Amounts are decimal numbers as text. Without any amount the price is unknown from then on."""

    model_config = ConfigDict(extra="forbid")

    model: str = Field(description="a name, or the beginning of names with * at its end", examples=["large-*"])
    from_: str | None = Field(None, alias="from", description="null: since ever", examples=["2026-03-01"])
    input_per_million: str | None = Field(None, examples=["2.50"])
    cached_input_per_million: str | None = Field(None, description="null: as other input")
    output_per_million: str | None = Field(None, examples=["10"])


class OwnPrices(Shape):
    """A project's own prices."""

    currency: str | None = Field(None, description="three capital letters", examples=["EUR"])
    prices: list[Price]


class Prices(OwnPrices):
    """By what the calls of a project are priced: its own prices first, then those for all projects."""

    zone: str = Field(description="in which the dates are")
    for_all_projects: list[Price] = Field(description="from the instance's file; only read here")

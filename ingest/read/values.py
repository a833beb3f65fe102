"""The shapes that the read layer returns. Durations are integer nanoseconds, unknown is None."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from ingest.packed import PhaseRow


@dataclass(slots=True, kw_only=True)
class RunRow:
    """One run as a list shows it. ``sources_ns`` says by stage how much came from which source; ``sources``
    names the weakest of each stage, None for a stage the run does not have. ``cost`` is that of its calls together,
    exact, in units of the currency, without the calls whose cost is unknown; None where there are only such."""

    run_id: str
    trace_id: str
    root_span_id: str
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
    status: str
    error: str | None
    provisional: bool
    root_ended: bool
    start_unix_ns: int
    end_unix_ns: int
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
    tool_count: int = 0
    tool_failures: int = 0
    warning_count: int = 0
    currency: str | None = None
    cost: str | None = None
    cost_unknown_calls: int | None = None
    cost_at_most_calls: int | None = None


class CallRow(Struct):
    span_id: str
    parent_span_id: str | None
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
    source: str
    attempts: int
    error: str | None
    finish_reason: str | None
    round: int
    scope: int
    engine_state: Any = None  # ingest.read.engine_state.EngineState, where somebody has asked for it
    cost: str | None = None


class CallPlace(Struct, kw_only=True, gc=False):
    """Where a call stands among those of its run: all that its name (round 2.1) and its tools' follow from."""

    span_id: str
    round: int
    scope: int
    start_unix_ns: int


class ToolRow(Struct, gc=False):
    span_id: str
    name: str
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


@dataclass(slots=True, kw_only=True)
class WarningRow:
    code: str
    text: str
    span_id: str | None = None


@dataclass(slots=True, kw_only=True)
class RunDetail(RunRow):
    calls: list[CallRow] = field(default_factory=list)
    tools: list[ToolRow] = field(default_factory=list)
    warnings: list[WarningRow] = field(default_factory=list)
    phases: list[PhaseRow] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class SpanRow:
    """A span as it was stored. ``attributes``, ``events`` and ``resource`` are None where not asked for."""

    trace_id: str
    span_id: str
    parent_span_id: str | None
    name: str
    kind: int
    status: int
    status_message: str
    start_unix_ns: int
    end_unix_ns: int
    service: str | None
    scope_name: str
    attributes: dict[str, Any] | None = None
    events: list[dict[str, Any]] | None = None
    resource: dict[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class TraceDetail:
    trace_id: str
    runs: list[str]
    spans: list[SpanRow]


@dataclass(slots=True, kw_only=True)
class RunPage:
    """Runs in the order asked for. ``next_cursor`` is None on the last page. ``looked_from_unix_ns`` is set where the
    time was up first: nothing that ended earlier was looked at."""

    runs: list[RunRow]
    next_cursor: str | None
    looked_from_unix_ns: int | None = None


@dataclass(slots=True, kw_only=True)
class Quantiles:
    """Quantiles from log bins (relative error at most 1 %), over ``count`` samples; None without samples."""

    count: int
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None


@dataclass(slots=True, kw_only=True)
class LiveFigures:
    """What the live page's key figures need, over a window of so many seconds until now."""

    window_s: int
    runs: int
    failed_runs: int
    wall: Quantiles
    ttft: Quantiles
    tpot: Quantiles
    queue: Quantiles
    tool_calls: int
    tool_failures: int
    input_tokens: int
    cached_tokens: int | None


@dataclass(slots=True, kw_only=True)
class StageStep:
    """Of what ended in one step of time: mean nanoseconds by owner, and quantiles and shares as key figures have them;
    None where nothing ended. ``wall_bins`` are the runs by the bin of their wall time."""

    start_unix_ns: int
    runs: int
    failed_runs: int
    mean_ns: dict[str, int] | None
    mean_wall_ns: int | None
    wall_bins: dict[int, int]
    wall: Quantiles
    ttft: Quantiles
    tpot: Quantiles
    queue: Quantiles
    hit_rate: float | None
    tool_failures: float | None


@dataclass(slots=True, kw_only=True)
class Facet:
    """How many runs have a value, most first."""

    field: str
    values: list[tuple[str, int]]


@dataclass(slots=True, kw_only=True)
class Facets:
    """``looked_from_unix_ns`` is set where the time was up first: runs that ended earlier are not counted."""

    facets: list[Facet]
    looked_from_unix_ns: int | None


@dataclass(slots=True, kw_only=True)
class Distribution:
    """Quantiles from log bins (relative error at most 1 %), sum and mean (rounded down) over ``count`` samples; None
    without samples."""

    count: int
    p50_ns: int | None
    p90_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    sum_ns: int | None
    mean_ns: int | None


Errors = dict[str, int]


@dataclass(slots=True, kw_only=True)
class Band:
    """Of the runs whose TTFT lies between two bounds (within 1 %), how many completed: ended without an error."""

    from_ns: int
    to_ns: int | None
    runs: int
    completed: int


@dataclass(slots=True, kw_only=True)
class Chain:
    """The stages and outside times of all runs, gathered into the phases of an agent's chain; they add up to the sum of
    the wall times. ``intent_ns`` is the models' work before any tool's result, parsing of tool calls included,
    ``final_ns`` that on tools' results; what nobody splits is in ``unsplit_ns``. ``model_share`` is the share of the
    whole that was spent in models or their queues, None without runs."""

    network_ns: int
    queue_ns: int
    intent_ns: int
    tools_ns: int
    final_ns: int
    unsplit_ns: int
    own_ns: int
    model_share: float | None


@dataclass(slots=True, kw_only=True)
class RunFigures:
    """Of runs that ended in the range. ``totals_ns`` add up to the sum of their wall times exactly. Quantiles of the
    stages that models make leave out ``unsplit`` runs, those of TTFT ``estimated`` ones."""

    count: int
    failed: int
    error_rate: float | None
    errors: Errors
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
    cacheable_tokens: int
    cache_hit_rate: float | None


@dataclass(slots=True, kw_only=True)
class CallFigures:
    """Of model calls that ended in the range; quantiles of their split leave out ``estimated`` ones."""

    count: int
    failed: int
    error_rate: float | None
    errors: Errors
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
    cost: str | None
    cost_unknown_calls: int
    cost_at_most_calls: int


@dataclass(slots=True, kw_only=True)
class ToolFigures:
    """Of tool calls that ended in the range, without pseudo tools; of ``unknown`` ones nobody knows how they ended."""

    count: int
    failed: int
    unknown: int
    success_rate: float | None
    errors: Errors
    wall: Distribution


@dataclass(slots=True, kw_only=True)
class Figures:
    runs: RunFigures | None
    calls: CallFigures | None
    tools: ToolFigures | None


@dataclass(slots=True, kw_only=True)
class Group:
    """Figures of one value of a dimension (None: those that have none), or of all values beyond the bound."""

    value: str | None
    is_other: bool
    figures: Figures


@dataclass(slots=True, kw_only=True)
class SummaryStep:
    from_unix_ns: int
    to_unix_ns: int
    groups: list[Group]
    total: Figures | None


@dataclass(slots=True, kw_only=True)
class Summary:
    """Figures of a range. ``runs`` is over how many runs; ``looked_from_unix_ns`` is set where the time was up before
    all rows of the range were counted, and then nothing older is in."""

    from_unix_ns: int
    to_unix_ns: int
    zone: str
    step: str | None
    currency: str | None
    group_by: str | None
    made_from: str
    made_from_by: dict[str, str]
    looked_from_unix_ns: int | None
    runs: int | None
    groups: list[Group]
    total: Figures | None
    steps: list[SummaryStep]

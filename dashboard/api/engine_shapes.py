"""Engines as the API tells and takes them. Durations are nanoseconds, unknown is null."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import ConfigDict, Field

from dashboard.api.shapes import MaybeUnixNs, Shape, UnixNs
from ingest.engines.targets import KINDS, Given


class Point(Shape):
    """A quantile, interpolated within the bucket from ``low`` to ``high`` (null: there is no upper end)."""

    value: float
    low: float
    high: float | None


class Spread(Shape):
    """Of a histogram in the window; ``unit`` is ns, tokens or count. The mean is exact."""

    unit: str
    count: int
    sum: float
    mean: float | None
    p50: Point | None
    p90: Point | None
    p95: Point | None
    p99: Point | None


class Saturation(Shape):
    state: str
    words: str


class Speculation(Shape):
    drafts: float
    draft_tokens: float
    accepted: float
    acceptance: float | None
    accepted_length: float | None = Field(description="tokens a step, the sure one included")
    by_position: dict[str, float]


class Core(Shape):
    engine: str
    running: float | None
    waiting: float | None
    kv_usage: float | None


class EngineFigures(Shape):
    """Gauges of the last sample; counts, rates and spreads of the window, over ``seconds`` that were observed."""

    model: str | None
    seconds: float
    running: float | None
    waiting: float | None
    waiting_by_reason: dict[str, float]
    kv_usage: float | None
    cores: list[Core] = Field(description="of a data-parallel server; empty where there is one")
    saturation: Saturation
    finished: float | None
    finished_by_reason: dict[str, float]
    failed: float | None
    rejected: float | None
    aborted: tuple[int, int] | None = Field(
        description="left by their clients after the first token: at least, at most"
    )
    preemptions: float | None
    requests_per_s: float | None
    prompt_tokens: float | None
    prompt_tokens_by_source: dict[str, float]
    generation_tokens: float | None
    prompt_tokens_per_s: float | None
    generation_tokens_per_s: float | None
    prefix_hits: float | None
    prefix_queries: float | None
    hit_rate: float | None = Field(description="in the window, never since start")
    hit_rate_told: float | None = Field(description="as the engine tells it of a time of its own")
    speculation: Speculation | None
    accepted_length_told: float | None
    acceptance_told: float | None
    spreads: dict[str, Spread]


class Engine(Shape):
    id: int
    name: str
    url: str
    kind: str
    seen_kind: str | None
    labels: dict[str, str]
    origin: str = Field(description="page, api, file or otlp")
    enabled: bool
    interval_ms: int
    timeout_ms: int
    has_credentials: bool
    verify_tls: bool
    state: str = Field(description="new, up, failing, stale or off")
    reason: str | None = Field(description="why the last scrape gave no sample")
    detail: str | None
    failures: int = Field(description="in a row")
    failing_since_unix_ns: MaybeUnixNs
    sample_unix_ns: MaybeUnixNs
    scraped_unix_ns: MaybeUnixNs
    model_names: list[str]
    window_s: int
    scrapes: int
    figures: EngineFigures | None = Field(description="of the whole page; null without a sample in the window")
    models: list[EngineFigures] = Field(description="by model, where the page has several")


class EngineList(Shape):
    engines: list[Engine]


class Failure(Shape):
    at_unix_ns: UnixNs
    took_ms: int
    reason: str
    detail: str


class EngineWhole(Engine):
    recent_failures: list[Failure] = Field(description="of the last 24 hours, at most 50, newest first")


class SeriesPoint(Shape):
    start_unix_ns: UnixNs
    scrapes: int
    values: dict[str, float | None] = Field(description="empty where nobody observed the step")


class EngineSeries(Shape):
    metric: str
    model: str | None
    what: str
    unit: str
    from_unix_ns: UnixNs
    to_unix_ns: UnixNs
    step_s: int
    points: list[SeriesPoint]


class SeriesAnswer(Shape):
    engine: str
    series: list[EngineSeries]


class Credentials(Schema):
    model_config = ConfigDict(extra="forbid")

    scheme: str = Field(description="bearer, basic, header; none takes away what was kept")
    name: str = Field("", description="the user of basic, the name of header")
    secret: str = ""


class TargetChange(Schema):
    """What is left out stays as it is. Secrets are kept encrypted and never told again."""

    model_config = ConfigDict(extra="forbid")

    url: str | None = None
    name: str | None = None
    kind: str | None = Field(None, description=", ".join(KINDS))
    labels: dict[str, str] | None = None
    interval_ms: int | None = None
    timeout_ms: int | None = None
    enabled: bool | None = None
    verify_tls: bool | None = None
    ca: str | None = Field(None, description="certificates to be trusted, PEM")
    credentials: Credentials | None = None

    def as_given(self) -> Given:
        plain: dict[str, Any] = self.dict(exclude={"credentials"})
        if self.credentials is not None:
            told = self.credentials
            plain |= {"scheme": told.scheme, "user": told.name, "secret": told.secret}
        return Given(**plain)


class NewTarget(TargetChange):
    url: str

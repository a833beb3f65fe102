"""A week's report as the API tells it. Durations are nanoseconds, unknown is null."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from dashboard.api.shapes import MaybeUnixNs, Shape, UnixNs
from dashboard.reports.core.parts import Cause
from dashboard.reports.storing import Shown


class Rest(Shape):
    shown: str
    value: float | str
    of: str = Field(description="a call of this API, and behind # where its answer has the number")
    per: str | None = Field(description="where given, the value is of / per")


class Sentence(Shape):
    text: str
    rests: list[Rest] = Field(description="every number of the sentence")
    tone: str = Field(description="worse, better or empty")


class Change(Shape):
    before: float | None
    after: float | None
    before_count: int
    after_count: int
    low: float | None = Field(description="of the difference, 95 %")
    high: float | None
    claimed: bool = Field(description="whether it is more than noise")


class QuantileRow(Shape):
    share: str
    change: Change
    four_week_median_ns: int | None
    weeks: int


class Measure(Shape):
    name: str
    label: str
    path: str
    rows: list[QuantileRow]


class DayRow(Shape):
    date: str
    before_runs: int
    after_runs: int
    before_p95_ns: int | None
    after_p95_ns: int | None


class Part(Shape):
    cause: Cause
    service: str | None
    models: list[str]
    owner: str
    ns: int


class Split(Shape):
    """Means of a run. The parts add up to the change, owner by owner and as a whole."""

    before_ns: int
    after_ns: int
    moved_ns: int
    before_by_owner_ns: dict[str, int]
    after_by_owner_ns: dict[str, int]
    by_cause_ns: dict[str, int]
    parts: list[Part]


class Mover(Shape):
    name: str | None
    before_count: int
    after_count: int
    p50: Change
    p95: Change
    mean: Change
    reason: str
    part_ns: int | None
    totals_ns: dict[str, int]


class Movers(Shape):
    dimension: str
    of: str
    rows: list[Mover]
    left_off: int


class Rate(Shape):
    name: str
    label: str
    of_what: str
    path: str
    change: Change
    more_is_better: bool


class BandRow(Shape):
    from_ns: int
    to_ns: int | None
    before_runs: int
    before_completed: int
    after_runs: int
    after_completed: int


class CostRow(Shape):
    currency: str
    before: str | None
    after: str | None
    before_unknown_calls: int
    after_unknown_calls: int


class Quality(Shape):
    calls: int
    measured: int
    estimated: int
    unknown: int
    runs: int
    unsplit_runs: int


class WorthRun(Shape):
    run_id: str
    service: str | None
    name: str
    why: str
    wall_ns: int
    totals_ns: dict[str, int]


class DeployRow(Shape):
    service: str
    version: str
    at_unix_ns: UnixNs
    date: str = Field(description="of the project's zone")
    source: str = Field(description="told by somebody, or seen by its first run")


class AlertRow(Shape):
    rule: str
    severity: str
    fired: int
    firing_ns: int


class SloRow(Shape):
    name: str
    target: float
    share: float | None
    total: int
    is_met: bool | None


class EngineFigure(Shape):
    name: str = Field(description="queue, ttft, tpot, itl (means, ns), hit_rate (a share) or preemptions (a request)")
    label: str
    change: Change


class EngineRow(Shape):
    id: int
    name: str
    before_requests: int | None
    after_requests: int | None
    before_observed: float = Field(description="share of the week in which it was scraped")
    after_observed: float
    figures: list[EngineFigure]


class EngineWeeks(Shape):
    """Engines by what they count themselves."""

    rows: list[EngineRow]
    left_off: int
    note: str


class ReportWhole(Shape):
    project: str
    project_name: str
    week: str
    zone: str
    from_unix_ns: UnixNs
    to_unix_ns: UnixNs
    before_from_unix_ns: UnixNs
    state: str = Field(description="empty, first, few, quiet or changed")
    whole: bool = Field(description="the week has ended")
    sent_unix_ns: MaybeUnixNs = Field(None, description="when it was sent; since then it stays as it is")
    later: list[str] = Field([], description="what data that came later would change")
    headline: Sentence
    sentences: list[Sentence]
    act: Sentence | None
    act_ns: int | None
    runs_before: int
    runs_after: int
    measures: list[Measure]
    split: Split | None
    days: list[DayRow]
    break_day: str | None
    lead: str | None = Field(description="the service that moved most")
    movers: list[Movers]
    rates: list[Rate]
    completion: list[BandRow]
    cost: CostRow | None
    quality: Quality
    worth: list[WorthRun]
    deploys: list[DeployRow]
    alerts: list[AlertRow]
    slos: list[SloRow]
    engines: EngineWeeks | None = Field(description="null where none is scraped")


class WeekRow(Schema):
    week: str
    is_open: bool
    runs: int
    p95_ns: int | None
    claimed: bool = Field(description="whether p95 changed by more than noise against the week before")
    headline: str = Field(description="of a report that was sent; else empty")


class WeekList(Schema):
    weeks: list[WeekRow]


def as_whole(shown: Shown) -> ReportWhole:
    told = ReportWhole.model_validate(shown.report)
    told.sent_unix_ns = None if shown.sent_unix_ns is None else str(shown.sent_unix_ns)
    told.later = shown.later
    return told

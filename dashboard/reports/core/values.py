"""What a weekly report holds. Durations are integer nanoseconds, unknown is None; kept as JSON once it is sent."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from dashboard.reports.core.engines import EngineWeeks
from dashboard.reports.core.noise import Change
from dashboard.reports.core.parts import Split


class State(StrEnum):
    """What kind of week it was, which decides what is said of it."""

    EMPTY = "empty"  # no run ended
    FIRST = "first"  # none ended the week before
    FEW = "few"  # too few in one of them to compare
    QUIET = "quiet"  # nothing changed beyond the noise
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """A number that a sentence rests on: as it is shown, what it is, and where the API tells it. ``of`` is a path of
    the API, with the place in its answer behind ``#``; where ``per`` is given too, the value is ``of`` / ``per``."""

    shown: str
    value: float | str
    of: str
    per: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """``tone`` is worse, better or empty."""

    text: str
    rests: list[Rest] = field(default_factory=list)
    tone: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileRow:
    """One quantile of one measure: against the week before, and the median of the four weeks before."""

    share: str
    change: Change
    four_week_median_ns: int | None
    weeks: int  # of these four, how many had samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """``path`` is where the API's summary has it."""

    name: str
    label: str
    path: str
    rows: list[QuantileRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayRow:
    date: str
    before_runs: int
    after_runs: int
    before_p95_ns: int | None
    after_p95_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mover:
    """One service, agent, model, tool or engine in both weeks. ``p95`` is of the wall time of its runs or calls;
    ``part_ns`` is how much of the change of the mean run lies in a service, ``totals_ns`` its stages this week."""

    name: str | None
    before_count: int
    after_count: int
    p50: Change
    p95: Change
    mean: Change
    reason: str = ""
    part_ns: int | None = None
    totals_ns: dict[str, int] = field(default_factory=dict)

    @property
    def slower(self) -> bool:
        return self.mean.rose or self.p50.rose or self.p95.rose

    @property
    def faster(self) -> bool:
        return not self.slower and (self.mean.fell or self.p50.fell or self.p95.fell)


@dataclass(frozen=True, slots=True, kw_only=True)
class Movers:
    """``dimension`` is service, agent, model, tool or engine; ``left_off`` says how many more there are."""

    dimension: str
    of: str  # runs or calls
    rows: list[Mover]
    left_off: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of two weeks: of what, in words."""

    name: str
    label: str
    of_what: str
    path: str
    change: Change
    more_is_better: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BandRow:
    """Of the runs whose TTFT lies in a band, how many completed, in both weeks."""

    from_ns: int
    to_ns: int | None
    before_runs: int
    before_completed: int
    after_runs: int
    after_completed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What the week's calls cost, exact as text; None where nobody knows. ``unknown_calls`` are in neither sum."""

    currency: str
    before: str | None
    after: str | None
    before_unknown_calls: int
    after_unknown_calls: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """Of the week's model calls, how many split of their time was measured, estimated or unknown; and of its runs, how
    many have model time that nobody splits."""

    calls: int
    measured: int
    estimated: int
    unknown: int
    runs: int
    unsplit_runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthRun:
    """A run worth opening, and why."""

    run_id: str
    service: str | None
    name: str
    why: str
    wall_ns: int
    totals_ns: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployRow:
    """A version of a service that went live in the week; ``date`` is the zone's. ``source``: told, or seen."""

    service: str
    version: str
    at_unix_ns: int
    date: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """A rule that fired in the week: how often, and for how long in all of it."""

    rule: str
    severity: str
    fired: int
    firing_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SloRow:
    """An objective over the week; None where nothing counted for it."""

    name: str
    target: float
    share: float | None
    total: int
    is_met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One project's week."""

    project: str
    project_name: str
    week: str
    zone: str
    from_unix_ns: int
    to_unix_ns: int
    before_from_unix_ns: int
    state: State
    whole: bool  # the week has ended
    headline: Sentence
    sentences: list[Sentence]
    act: Sentence | None
    act_ns: int | None  # of the change of the mean: what acting is about
    runs_before: int
    runs_after: int
    measures: list[Measure]
    split: Split | None
    days: list[DayRow]
    break_day: str | None
    lead: str | None  # the service that moved most
    movers: list[Movers]
    rates: list[Rate]
    completion: list[BandRow]
    cost: CostRow | None
    quality: Quality
    worth: list[WorthRun]
    deploys: list[DeployRow] = field(default_factory=list)
    alerts: list[AlertRow] = field(default_factory=list)
    slos: list[SloRow] = field(default_factory=list)
    engines: EngineWeeks | None = None  # where none is scraped, and in reports of before they were compared

"""Rules and objectives as values. How they are written is in ``written``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from .measures import MEASURES, Measure

SECOND_NS = 10**9
LEAST_SAMPLES = 20  # below it a quantile says more about chance than about the service


class Severity(StrEnum):
    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"


class Silent(StrEnum):
    """What is done when a rule cannot tell: ``quiet`` shows the state, ``alert`` fires."""

    QUIET = "quiet"
    ALERT = "alert"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Breached where the figure is above (or below) ``limit``, in the unit of the measure."""

    above: bool
    limit: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Breached where the figure is by more than ``share`` above (or below) that of the same local time last week."""

    above: bool
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Absence:
    """Breached where nothing came in the window, of a group that came before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Both windows must burn the budget ``factor`` times as fast as it would last: the long one makes it matter, the
    short one that it still burns."""

    long_s: int
    short_s: int
    factor: float


# From the SRE Workbook, chapter 5: 2 % of a 30 days' budget in an hour, 5 % in six hours, 10 % in three days.
FAST_AND_SLOW = (
    Pair(long_s=3600, short_s=300, factor=14.4),
    Pair(long_s=6 * 3600, short_s=1800, factor=6.0),
    Pair(long_s=3 * 86_400, short_s=6 * 3600, factor=1.0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Burn:
    slo: str
    pairs: tuple[Pair, ...] = FAST_AND_SLOW


Condition = Threshold | Change | Absence | Burn


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    """An objective: of what counts in ``where``, a share ``target`` is good over ``window_days``. Good is an item that
    did not fail (``limit_ns`` None), or whose ``measure`` is at most the limit, within the 1 % of a bin."""

    name: str
    measure: str
    target: float
    window_days: int = 28
    limit_ns: int | None = None
    where: Mapping[str, str] = field(default_factory=dict)

    @property
    def what(self) -> Measure:
        return MEASURES[self.measure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``window_s`` is over how long a figure is taken, ``every_s`` how often it is looked at, ``for_s`` how long it
    must be breached before it fires, ``keep_s`` how long it fires on after the last breach. ``measure`` and ``stat`` of
    a burn rule are its objective's."""

    name: str
    measure: str
    stat: str
    condition: Condition
    where: Mapping[str, str] = field(default_factory=dict)
    group_by: str | None = None
    window_s: int = 300
    every_s: int = 60
    for_s: int = 0
    keep_s: int = 0
    least_samples: int = LEAST_SAMPLES
    no_data: Silent = Silent.QUIET
    error: Silent = Silent.QUIET
    severity: Severity = Severity.WARNING
    labels: Mapping[str, str] = field(default_factory=dict)
    channels: tuple[str, ...] = ()
    bundle_by: tuple[str, ...] = ("alertname",)
    wait_s: int = 30
    repeat_s: int = 4 * 3600
    note: str = ""
    enabled: bool = True

    @property
    def what(self) -> Measure:
        return MEASURES[self.measure]

    @property
    def windows_s(self) -> tuple[int, ...]:
        """All windows that a verdict needs, the longest last."""
        if isinstance(self.condition, Burn):
            return tuple(sorted({w for pair in self.condition.pairs for w in (pair.long_s, pair.short_s)}))
        return (self.window_s,)

    @property
    def longest_s(self) -> int:
        return self.windows_s[-1]

    @property
    def hold_ns(self) -> int:
        """How long a state outlives the last verdict that told anything."""
        return max(self.window_s, 600) * SECOND_NS if not isinstance(self.condition, Burn) else 600 * SECOND_NS

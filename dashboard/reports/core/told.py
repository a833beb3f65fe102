"""What a report is composed of: two weeks and those before, as bins and sums. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from dashboard.reports.core.engines import EngineWeeks
from dashboard.reports.core.facts import Binned, Weeks
from dashboard.reports.core.values import DeployRow
from dashboard.reports.core.weeks import Week

ALL = ("all",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """``history`` are the three weeks before the last one, oldest first; ``days`` fourteen days, by all runs and by
    service. Sums lie under places: ALL, ("service", name), ("unit", service, models), ("service tool", service,
    tool) …"""

    project: str
    project_name: str
    week: Week
    zone: ZoneInfo
    now_ns: int
    weeks: Weeks
    history: list[Binned]
    days: list[Binned]
    currency: str | None
    engines: EngineWeeks | None = None
    deploys: list[DeployRow] = field(default_factory=list)

    @property
    def has_engines(self) -> bool:
        return self.engines is not None and bool(self.engines.rows)

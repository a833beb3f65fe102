"""How fine the answer about a time can be: to the nanosecond while the runs are stored, by minutes, quarter-hours and
days when only these are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

from ingest.rollups.folding import zone_of
from ingest.rollups.horizon import Gone, gone_until, kept_from
from ingest.rollups.steps import MINUTE_NS, QUARTER_NS, Kept, day_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """``runs_from_ns`` is from when on all runs are stored; ``days_zone`` whose days are summed, None: nobody's."""

    kept: Kept
    runs_from_ns: int
    zone: ZoneInfo
    days_zone: ZoneInfo | None

    def down(self, at_ns: int) -> int:
        """The last instant up to this one at which counting can begin or end."""
        if at_ns >= self.runs_from_ns:
            return at_ns
        if at_ns >= self.kept.hours_from_ns:
            length_ns = MINUTE_NS if at_ns >= self.kept.minutes_from_ns else QUARTER_NS
            return at_ns // length_ns * length_ns
        return day_of(at_ns, self.zone)[0]

    def up(self, at_ns: int) -> int:
        """The first such instant from this one on."""
        if self.down(at_ns) == at_ns:
            return at_ns
        if at_ns >= self.kept.hours_from_ns:
            length_ns = MINUTE_NS if at_ns >= self.kept.minutes_from_ns else QUARTER_NS
            return -(-at_ns // length_ns) * length_ns
        return day_of(at_ns, self.zone)[1]


def read_reach(cursor: Any, project_id: int) -> Reach:
    cursor.execute(
        """SELECT project.zone, summed.zone FROM ingest_project AS project
           LEFT JOIN ingest_rollup_zone AS summed ON summed.project_id = project.id AND summed.zone = project.zone
           WHERE project.id = %s""",
        [project_id],
    )
    zone, days_zone = cursor.fetchone() or ("UTC", None)
    return Reach(
        kept=kept_from(cursor), runs_from_ns=gone_until(cursor).get(Gone.RUNS, -(2**63)), zone=zone_of(zone),
        days_zone=None if days_zone is None else zone_of(days_zone),
    )  # fmt: skip

"""Where the API tells a number: the call, and the place in its answer. Pure.

``/api/v1/summary?…#groups/research/figures/runs/wall/p95_ns``: behind the ``#`` are keys with slashes between; a
group is named by its value, percent-encoded, ``~`` being the one without a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode

NO_VALUE = "~"
SECOND_NS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Figures of a range, of one service if any, of a group of a dimension if any."""

    from_ns: int
    to_ns: int
    service: str | None = None
    dimension: str = ""
    group: str | None = None

    def path(self, figure: str) -> str:
        """``figure`` begins with runs, calls or tools: ``runs/wall/p95_ns``."""
        query = {"from": str(self.from_ns), "to": str(self.to_ns), "of": figure.partition("/")[0]}
        if self.service is not None:
            query["service"] = self.service
        if self.dimension:
            query["group_by"] = self.dimension
        where = f"groups/{group_name(self.group)}/figures" if self.dimension else "total"
        return f"/api/v1/summary?{urlencode(query)}#{where}/{figure}"


def series_path(engine: int, from_ns: int, to_ns: int, metric: str, value: str) -> str:
    """A value of an engine's series over the whole range."""
    query = {"metric": metric, "from": str(from_ns), "to": str(to_ns), "step": str((to_ns - from_ns) // SECOND_NS)}
    return f"/api/v1/engines/{engine}/series?{urlencode(query)}#series/0/points/0/values/{value}"


def group_name(value: str | None) -> str:
    return NO_VALUE if value is None else quote(value, safe="")


def report_path(week: str, where: str) -> str:
    return f"/api/v1/reports/{week}#{where}"

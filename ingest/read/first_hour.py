"""How far a new project has come: what has arrived, and what of it could be told."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.read.rows import select
from ingest.scope import Scope

NEWEST = 200  # runs that are looked at
TRACES = 20_000  # of all projects since yesterday: no index tells whose they are


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstHour:
    """Whether there is any trace; and among the newest runs any, one with a measured first token, one with tools, and
    one whose engine tells of itself."""

    traces: bool
    runs: bool
    first_tokens: bool
    tools: bool
    engines: bool


def read_first_hour(scope: Scope) -> FirstHour:
    where, parameters = scope.where()
    [found] = select(
        f"""WITH newest AS (
                SELECT ttft_ns, basis, tool_count, engine FROM ingest_run WHERE {where}
                ORDER BY end_unix_ns DESC LIMIT {NEWEST}
            ), late AS (
                SELECT project_id FROM ingest_trace WHERE day >= current_date - 1 LIMIT {TRACES}
            )
            SELECT EXISTS (SELECT 1 FROM newest) OR EXISTS (SELECT 1 FROM late WHERE {where}) AS traces,
                   EXISTS (SELECT 1 FROM newest) AS runs,
                   EXISTS (SELECT 1 FROM newest WHERE ttft_ns IS NOT NULL AND basis IS NULL) AS first_tokens,
                   EXISTS (SELECT 1 FROM newest WHERE tool_count > 0) AS tools,
                   EXISTS (SELECT 1 FROM newest WHERE engine IS NOT NULL)
                     OR EXISTS (SELECT 1 FROM ingest_engine_target WHERE {where}) AS engines""",
        [*parameters] * 3,
    )
    return FirstHour(**found)

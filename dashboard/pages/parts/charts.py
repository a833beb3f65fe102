"""The numbers that the charts of Live draw, as JSON carries them: durations as numbers, moments as strings."""

from __future__ import annotations

from typing import Any

from dashboard.figures import Figure, duration
from dashboard.pages.parts.safetext import visible
from ingest.read.deploys import Deploy
from ingest.read.values import StageStep
from ingest.rollups.bins import bin_bounds

from .bar import LABELS, ORDER

LEAST_TOGETHER, ROWS_MOST = 8, 24  # bins a row of the heat map, and rows
MARKS_MOST, MARK_MOST = 12, 40


def stage_series(steps: list[StageStep], step_s: int) -> dict[str, Any]:
    """Mean time by stage and step. A step in which no run ended is null: unknown, not zero."""
    return {
        "step_s": step_s,
        "start_unix_ns": [str(step.start_unix_ns) for step in steps],
        "runs": [step.runs for step in steps],
        "mean_wall_ns": [step.mean_wall_ns for step in steps],
        "stages": [
            {
                "stage": stage,
                "label": LABELS[stage],
                "mean_ns": [step.mean_ns[stage] if step.mean_ns else None for step in steps],
            }
            for stage in ORDER
        ],
    }


def stage_table(steps: list[StageStep]) -> list[tuple[StageStep, list[Figure]]]:
    """The same as rows, the newest first; steps without runs are left out."""
    filled = [step for step in reversed(steps) if step.mean_ns is not None]
    return [(step, [duration((step.mean_ns or {})[stage]) for stage in ORDER]) for step in filled]


def heat_map(steps: list[StageStep], step_s: int) -> dict[str, Any]:
    """How many runs ended when with which wall time. Rows are whole bins together, so that a cell's bounds are exact:
    the list of runs between them has as many."""
    known = [index for step in steps for index in step.wall_bins if index > 0]
    if not known:
        return {"step_s": step_s, "start_unix_ns": [], "rows": [], "counts": [], "p95_ns": []}
    first, last = min(known), max(known)
    together = max(LEAST_TOGETHER, -(-(last - first + 1) // ROWS_MOST))
    rows = range(first, last + 1, together)
    return {
        "step_s": step_s,
        "start_unix_ns": [str(step.start_unix_ns) for step in steps],
        "rows": [
            {"low_ns": str(bin_bounds(row)[0]), "high_ns": str(bin_bounds(row + together - 1)[1])} for row in rows
        ],
        "counts": [
            [sum(n for index, n in step.wall_bins.items() if row <= index < row + together) for row in rows]
            for step in steps
        ],
        "p95_ns": [step.wall.p95_ns for step in steps],
    }  # fmt: skip


def spark_lines(steps: list[StageStep], step_s: int) -> dict[str, list[float | None]]:
    """The key figures over the same steps, by the names that these have; the last step is not over yet."""
    return {
        "runs": [step.runs * 60 / step_s for step in steps[:-1]],
        "wall": [step.wall.p95_ns for step in steps],
        "ttft": [step.ttft.p95_ns for step in steps],
        "tpot": [step.tpot.p95_ns for step in steps],
        "queue": [step.queue.p95_ns for step in steps],
        "cache_hit": [step.hit_rate for step in steps],
        "tool_failures": [step.tool_failures for step in steps],
        "errors": [step.failed_runs / step.runs if step.runs else None for step in steps],
    }


def marks(deploys: list[Deploy]) -> list[dict[str, str]]:
    """Events that charts show as dotted lines."""
    return [
        {"at_unix_ns": str(one.at_unix_ns), "text": visible(f"{one.service} {one.version}")[:MARK_MOST]}
        for one in deploys[-MARKS_MOST:]
    ]  # fmt: skip

"""The numbers that the charts of Live draw, as JSON carries them: durations as numbers, moments as strings."""

from __future__ import annotations

from typing import Any

from dashboard.figures import Figure, duration
from ingest.read.values import RunRow, StageStep

from .bar import LABELS, ORDER


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


def wall_points(runs: list[RunRow], from_unix_ns: int, to_unix_ns: int) -> dict[str, Any]:
    """One point a run: when it ended and how long it took."""
    return {
        "from_unix_ns": str(from_unix_ns),
        "to_unix_ns": str(to_unix_ns),
        "run_id": [run.run_id for run in runs],
        "end_unix_ns": [str(run.end_unix_ns) for run in runs],
        "wall_ns": [run.wall_ns for run in runs],
        "failed": [run.status == "error" for run in runs],
        "name": [run.service or run.name for run in runs],
    }

"""The six-stage latency model: spans of one trace in, runs out. Pure: no Django, no clock, no logging."""

from ingest.stages.decompose import decompose
from ingest.stages.model import (
    Breakdown,
    Call,
    Decomposition,
    Oddity,
    Outside,
    Phase,
    Run,
    Source,
    Stage,
    Tool,
)

__all__ = [
    "Breakdown",
    "Call",
    "Decomposition",
    "Oddity",
    "Outside",
    "Phase",
    "Run",
    "Source",
    "Stage",
    "Tool",
    "decompose",
]

"""The six-stage latency model: spans of one trace in, runs out. Pure: no Django, no clock, no logging."""

from ingest.stages.decompose import ALGORITHM, decompose
from ingest.stages.estimate import Basis, BasisKey
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
    "ALGORITHM",
    "Basis",
    "BasisKey",
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

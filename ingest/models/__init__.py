"""The tables. Small shared ones (projects, keys) have foreign keys; the hot ones are partitioned by the
trace's day and keyed so that they can be sharded by trace: every unique key holds trace id and day."""

from ingest.models.deploy import ToldDeploy
from ingest.models.engine import EngineFailure, EngineLayout, EngineMinute, EngineSample, EngineTarget
from ingest.models.observing import Process, SettledCount, SettledUntil
from ingest.models.price import PriceList
from ingest.models.project import IngestKey, Project, ProjectDay
from ingest.models.rollup import Rollup, RollupAdmitted, RollupDelta, RollupGone, RollupKey, RollupZone
from ingest.models.run import Call, Run, Tool
from ingest.models.telemetry import Body, Chunk, Dictionary, DirtyTrace, EngineSpan, Signal, Trace

__all__ = [
    "Body",
    "Call",
    "Chunk",
    "Dictionary",
    "DirtyTrace",
    "EngineFailure",
    "EngineLayout",
    "EngineMinute",
    "EngineSample",
    "EngineSpan",
    "EngineTarget",
    "IngestKey",
    "PriceList",
    "Process",
    "Project",
    "ProjectDay",
    "Rollup",
    "RollupAdmitted",
    "RollupDelta",
    "RollupGone",
    "RollupKey",
    "RollupZone",
    "Run",
    "SettledCount",
    "SettledUntil",
    "Signal",
    "ToldDeploy",
    "Tool",
    "Trace",
]

"""What rules can be about: the figures of summaries and of engines, with their units and what can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from ingest.engines.names import METRICS, Type, Unit
from ingest.stages.model import Outside, Stage

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
SPREAD_STATS = (*QUANTILES, "mean")


class Shape(StrEnum):
    """How a measure is made of many items: ``spread`` of their values, ``share`` of them, their ``count``, or a
    ``gauge`` or ``counter`` that an engine tells."""

    SPREAD = "spread"
    SHARE = "share"
    COUNT = "count"
    GAUGE = "gauge"
    COUNTER = "counter"


STATS: dict[Shape, tuple[str, ...]] = {
    Shape.SPREAD: SPREAD_STATS,
    Shape.SHARE: ("share",),
    Shape.COUNT: ("count", "per_minute"),
    Shape.GAUGE: ("mean", "max", "last"),
    Shape.COUNTER: ("count", "per_second"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """``unit`` is ns, share or number. ``metric`` is its name in rollups or engine samples; ``part_of`` what the items
    that a share or count is of are called, in a sentence."""

    name: str
    label: str
    shape: Shape
    unit: str
    metric: str = ""
    part_of: str = ""
    low_is_bad: bool = False
    stage: str | None = None

    @property
    def source(self) -> str:
        """runs, calls, tools or engine."""
        return self.name.partition(".")[0]

    @property
    def stats(self) -> tuple[str, ...]:
        if self.shape is Shape.GAUGE and self.metric not in SEEN_THROUGHOUT:
            return ("last",)
        return STATS[self.shape]


SEEN_THROUGHOUT = ("running", "waiting", "kv_usage")  # gauges of which every sample's value is kept beside it
_OWNERS = {
    **{stage.value: stage.value.replace("_", " ").capitalize() for stage in Stage},
    **{outside.value: outside.value.replace("_", " ").capitalize() for outside in Outside},
} | {"re_encoding": "Re-encoding", "model_unsplit": "Unsplit model time"}
_NOT_A_STAGE = {"wall": ("Wall time", "wall"), "ttft": ("TTFT", "ttft"), "first_token": ("First token", "first_token"),
                "ttft_sum": ("Sum of TTFT", "ttft_sum")}  # fmt: skip


_ENGINE_LABELS = {
    "kv_usage": "KV cache in use", "queue": "Queue of the engine", "ttft": "TTFT of the engine",
    "tpot": "TPOT of the engine", "itl": "Time between tokens", "e2e": "Time of requests",
    "waiting": "Requests waiting", "running": "Requests running", "preemptions": "Preemptions",
    "failed": "Requests failed",
}  # fmt: skip


def _begun(what: str) -> str:
    """A sentence's beginning; names keep their capitals."""
    return what[:1].upper() + what[1:]


def _summary() -> Iterator[Measure]:
    for source, item in (("runs", "runs"), ("calls", "model calls"), ("tools", "tool calls")):
        yield Measure(name=f"{source}.count", label=item.capitalize(), shape=Shape.COUNT, unit="number", part_of=item)
    for name, (label, metric) in _NOT_A_STAGE.items():
        yield Measure(name=f"runs.{name}", label=label, shape=Shape.SPREAD, unit="ns", metric=metric, part_of="runs")
    for owner, label in _OWNERS.items():
        yield Measure(
            name=f"runs.{owner}", label=label, shape=Shape.SPREAD, unit="ns", metric=owner, part_of="runs", stage=owner
        )
    for name, label in (("wall", "Wall time of calls"), ("ttft", "TTFT"), ("tpot", "TPOT"), ("queue", "Queue"),
                        ("prefill", "Prefill of calls"), ("decode", "Decode of calls")):  # fmt: skip
        yield Measure(
            name=f"calls.{name}", label=label, shape=Shape.SPREAD, unit="ns", metric=name, part_of="model calls",
            stage={"queue": "queue", "tpot": "decode", "prefill": "prefill", "decode": "decode"}.get(name),
        )  # fmt: skip
    yield Measure(
        name="tools.wall", label="Time of tools", shape=Shape.SPREAD, unit="ns", metric="wall", part_of="tool calls",
        stage="tool_execution",
    )  # fmt: skip
    yield Measure(name="runs.error_rate", label="Failed runs", shape=Shape.SHARE, unit="share", part_of="runs")
    yield Measure(name="calls.error_rate", label="Failed calls", shape=Shape.SHARE, unit="share", part_of="model calls")
    yield Measure(name="tools.failure_rate", label="Tool failures", shape=Shape.SHARE, unit="share",
                  part_of="tool calls", stage="tool_execution")  # fmt: skip
    yield Measure(name="calls.cache_hit_rate", label="Cache hit rate", shape=Shape.SHARE, unit="share",
                  part_of="input tokens", low_is_bad=True, stage="prefill")  # fmt: skip


def _engine() -> Iterator[Measure]:
    yield Measure(name="engine.up", label="Scrapes that succeeded", shape=Shape.SHARE, unit="share", metric="up",
                  part_of="scrapes", low_is_bad=True)  # fmt: skip
    yield Measure(name="engine.hit_rate", label="Prefix hits", shape=Shape.SHARE, unit="share", metric="hit_rate",
                  part_of="prompt tokens", low_is_bad=True, stage="prefill")  # fmt: skip
    yield Measure(name="engine.acceptance", label="Draft tokens accepted", shape=Shape.SHARE, unit="share",
                  metric="acceptance", part_of="draft tokens", low_is_bad=True, stage="decode")  # fmt: skip
    shapes = {Type.GAUGE: Shape.GAUGE, Type.COUNTER: Shape.COUNTER, Type.HISTOGRAM: Shape.SPREAD}
    stages = {"ttft": "prefill", "prefill": "prefill", "queue": "queue", "waiting": "queue", "tpot": "decode"}
    for metric in METRICS.values():
        is_time = metric.unit is Unit.SECONDS and metric.type is Type.HISTOGRAM
        unit = "ns" if is_time else "share" if metric.unit is Unit.RATIO else "number"
        yield Measure(
            name=f"engine.{metric.name}", label=_ENGINE_LABELS.get(metric.name) or _begun(metric.what),
            shape=shapes[metric.type], unit=unit, metric=metric.name, part_of="requests", stage=stages.get(metric.name),
        )  # fmt: skip


MEASURES: dict[str, Measure] = {measure.name: measure for measure in (*_summary(), *_engine())}


def unit_of(measure: Measure, stat: str) -> str:
    """In what a limit is written: a rate or count is a number whatever the measure is."""
    return "number" if stat in ("count", "per_minute", "per_second") else measure.unit

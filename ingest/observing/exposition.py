"""All figures in Prometheus' text format, of the projects that the reader may see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.utils import floatToGoString

from ingest.observing import measures
from ingest.observing.exports import UNKNOWN
from ingest.observing.processes import ProcessRow
from ingest.observing.queue import Depth
from ingest.observing.samples import Samples, parsed
from ingest.observing.settled import BOUNDS_NS, Settled
from ingest.packed import OWNERS

SETTLED = {
    "wall": ("run_wall_seconds", "Wall time of settled runs"),
    "ttft": ("run_ttft_seconds", "Time to the first token of the final answer, of settled runs without estimates"),
    "call_wall": ("call_seconds", "Wall time of model calls of settled runs"),
    "call_ttft": ("call_ttft_seconds", "Time to first token of model calls, measured ones only"),
    "call_tpot": ("call_tpot_seconds", "Time per output token of model calls, measured ones only"),
}
STAGES = ("run_stage_seconds", "Time of settled runs by stage, and by what is outside of the stages")
LE = [*(floatToGoString(bound / 1e9) for bound in BOUNDS_NS), "+Inf"]  # type: ignore[no-untyped-call]
OWNER_NAMES = {owner.value for owner in OWNERS}


def render(families: Iterable[Metric]) -> bytes:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(list(families)))
    return generate_latest(registry)


class _Given:
    def __init__(self, families: list[Metric]) -> None:
        self.families = families

    def collect(self) -> list[Metric]:
        return self.families


def counted(samples: Samples, slugs: Mapping[int, str]) -> Iterator[Metric]:
    """The summed counts of all processes. ``slugs`` names the projects that may be seen."""
    kinds = [Metric(family.name, family.documentation, family.type) for family in measures.REGISTRY.collect()]
    by_name = {f"{kind.name}{end}": kind for kind in kinds for end in ("_total", "_bucket", "_sum", "_count")}
    rows = []
    for sample_key, value in samples.items():
        name, labels = parsed(sample_key)
        if name not in by_name:
            continue  # counted by another version of ours
        if (project := labels.get("project", UNKNOWN)) != UNKNOWN:
            if not project.isdigit() or int(project) not in slugs:
                continue
            labels["project"] = slugs[int(project)]
        bound = float(labels["le"]) if "le" in labels else 0.0
        rows.append((name, sorted((k, v) for k, v in labels.items() if k != "le"), bound, labels, value))
    for name, _, _, labels, value in sorted(rows, key=lambda row: row[:3]):
        by_name[name].add_sample(name, labels, value)
    for kind in kinds:
        if not kind.samples and kind.type == "counter" and kind.name in _UNLABELLED:
            kind.add_sample(f"{kind.name}_total", {}, 0)
        if kind.samples:
            yield kind


_UNLABELLED = {family.name for family in measures.REGISTRY.collect() if family.samples}


def settled(histograms: Iterable[Settled], slugs: Mapping[int, str]) -> Iterator[Metric]:
    labels = ["project", "service", "model"]
    families = {
        measure: HistogramMetricFamily(f"sixstage_{name}", meaning, labels=labels)
        for measure, (name, meaning) in SETTLED.items()
    }
    stages = HistogramMetricFamily(f"sixstage_{STAGES[0]}", STAGES[1], labels=[*labels, "stage"])
    for one in histograms:
        values = [slugs[one.project_id], one.service, one.model]
        total, buckets = 0, []
        for bound, count in zip(LE, one.counts, strict=True):
            total += count
            buckets.append((bound, total))
        if one.measure in families:
            families[one.measure].add_metric(values, buckets, one.sum_ns / 1e9)
        elif one.measure in OWNER_NAMES:
            stages.add_metric([*values, one.measure], buckets, one.sum_ns / 1e9)
    yield from (family for family in (*families.values(), stages) if family.samples)


def present(depth: Depth | None, processes: Sequence[ProcessRow], worker_silent_s: float | None) -> Iterator[Metric]:
    """Gauges of this moment. What is not known has no sample."""
    if depth is not None:
        queue = GaugeMetricFamily(
            "sixstage_queue_traces", "Traces with spans that no decomposition has seen", labels=["state"]
        )
        for state in ("claimed", "due", "retrying", "set_aside"):
            queue.add_metric([state], getattr(depth, state))
        yield queue
        yield GaugeMetricFamily(
            "sixstage_queue_oldest_age_seconds", "How long the oldest trace is overdue; 0 where none is",
            value=(depth.oldest_age_ns or 0) / 1e9,
        )  # fmt: skip
    if worker_silent_s is not None:
        yield GaugeMetricFamily(
            "sixstage_worker_heartbeat_age_seconds", "Since a worker last gave a sign of life", value=worker_silent_s
        )
    labels = ["process", "instance_id"]
    started = GaugeMetricFamily("sixstage_process_start_time_seconds", "When it started, Unix time", labels=labels)
    memory = GaugeMetricFamily("sixstage_process_resident_memory_bytes", "Its resident memory", labels=labels)
    silent = GaugeMetricFamily("sixstage_process_silent_seconds", "Since it last spoke", labels=labels)
    for process in processes:
        values = [process.role, f"{process.host}:{process.pid}"]
        started.add_metric(values, process.started_unix_ns / 1e9)
        silent.add_metric(values, process.silent_ns / 1e9)
        if process.rss_bytes is not None:
            memory.add_metric(values, process.rss_bytes)
    yield from (started, memory, silent)


def space(database_bytes: int, free: tuple[int, int] | None) -> Iterator[Metric]:
    yield GaugeMetricFamily("sixstage_database_bytes", "Size of the database on disk", value=database_bytes)
    if free is not None:
        yield GaugeMetricFamily("sixstage_disk_free_bytes", "Free on the disk of the data directory", value=free[0])

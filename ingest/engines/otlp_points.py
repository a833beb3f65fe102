"""OTLP metrics → the same samples that a page gives: a collector's Prometheus receiver sends engines' own names, SDKs
those of the GenAI conventions.

Points of one resource at one time are one scrape. Delta points are counted up by who stores them.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from ingest.attributes import attributes_of
from ingest.engines.exposition import Head
from ingest.engines.kinds import kind_of
from ingest.engines.pages import Reading, read_samples
from ingest.frozen import Frozen

NO_RECORDED_VALUE = 1
DELTA = 1
LONGEST = 200
# What exponential histograms are told in: their own bounds change whenever their scale does. 100 µs to 28 h in seconds,
# and counts up to 2^30; each step is 41 % (and a bucket counts at its upper bound).
BOUNDS = (*(2.0 ** (n / 2) for n in range(-27, 61)), math.inf)


class Told(Frozen, frozen=True, kw_only=True):
    """What one resource said at one time. ``who`` names the resource; ``delta`` says that its counts are since the
    last time."""

    who: str
    labels: tuple[tuple[str, str], ...]
    unix_ns: int
    reading: Reading
    delta: bool


def tellings(request: ExportMetricsServiceRequest) -> Iterator[Told]:
    """All that is known of an engine or of model calls, in the order of time; other metrics are nobody's."""
    for of_resource in request.resource_metrics:
        metrics = [metric for scope in of_resource.scope_metrics for metric in scope.metrics]
        kind = kind_of({metric.name for metric in metrics})
        if kind is None:
            continue
        resource = attributes_of(of_resource.resource.attributes)
        by_time: dict[int, list[tuple[Head, float]]] = defaultdict(list)
        deltas: set[int] = set()
        for metric in metrics:
            for unix_ns, head, value, delta in _points(metric):
                by_time[unix_ns].append((head, value))
                if delta:
                    deltas.add(unix_ns)
        for unix_ns, told in sorted(by_time.items()):
            reading = read_samples(kind, told)
            if reading is not None:
                yield Told(
                    who=_who(resource), labels=_labels(resource), unix_ns=unix_ns, reading=reading,
                    delta=unix_ns in deltas,
                )  # fmt: skip


def _who(resource: Any) -> str:
    service = str(resource.get("service.name") or "unknown service")
    instance = resource.get("service.instance.id")
    return f"{service} {instance}"[:LONGEST] if instance else service[:LONGEST]


def _labels(resource: Any) -> tuple[tuple[str, str], ...]:
    kept = ("service.name", "service.instance.id", "service.version", "deployment.environment.name")
    return tuple((key, str(resource[key])[:LONGEST]) for key in kept if resource.get(key))


def _points(metric: Any) -> Iterator[tuple[int, Head, float, bool]]:
    """(time, head, value, is a delta) of each number that the metric's points hold."""
    form = metric.WhichOneof("data")
    if form not in ("gauge", "sum", "histogram", "exponential_histogram"):
        return
    data = getattr(metric, form)
    delta = form != "gauge" and data.aggregation_temporality == DELTA
    for point in data.data_points:
        if point.flags & NO_RECORDED_VALUE:
            continue
        labels = tuple(sorted((key, str(value)) for key, value in attributes_of(point.attributes).items()))
        for head, value in _numbers(metric.name, form, point, labels):
            yield point.time_unix_nano, head, value, delta


def _numbers(name: str, form: str, point: Any, labels: tuple[tuple[str, str], ...]) -> Iterator[tuple[Head, float]]:
    if form in ("gauge", "sum"):
        value = point.as_double if point.WhichOneof("value") == "as_double" else float(point.as_int)
        yield Head(name=name, labels=labels), value
        return
    for bound, count in _explicit(point) if form == "histogram" else _exponential(point):
        yield Head(name=f"{name}_bucket", labels=(*labels, ("le", _le(bound)))), count
    yield Head(name=f"{name}_sum", labels=labels), point.sum if point.HasField("sum") else math.nan
    yield Head(name=f"{name}_count", labels=labels), float(point.count)


def _explicit(point: Any) -> Iterator[tuple[float, float]]:
    if len(point.bucket_counts) != len(point.explicit_bounds) + 1:
        return
    yield from _cumulative(zip((*point.explicit_bounds, math.inf), point.bucket_counts, strict=True))


def _exponential(point: Any) -> Iterator[tuple[float, float]]:
    """In fixed bounds; a bucket's samples count at its upper end, so that none seems smaller than it may be."""
    counts = [0.0] * len(BOUNDS)
    counts[0] += point.zero_count + sum(point.negative.bucket_counts)
    base = 2.0 ** (2.0**-point.scale)
    for place, count in enumerate(point.positive.bucket_counts, point.positive.offset + 1):
        if count:
            counts[bisect.bisect_left(BOUNDS, _power(base, place) * (1 - 1e-9))] += count
    yield from _cumulative(zip(BOUNDS, counts, strict=True))


def _power(base: float, exponent: int) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf


def _cumulative(counts: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    total = 0.0
    for bound, count in counts:
        total += count
        yield bound, total


def _le(bound: float) -> str:
    return "+Inf" if math.isinf(bound) else repr(bound)

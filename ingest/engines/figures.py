"""An engine's figures for people and programs, of one window and its last sample.

Durations are in nanoseconds; None is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingest.engines.differences import Buckets, Sample
from ingest.engines.names import METRICS, Unit
from ingest.engines.saturation import Load, Saturation, saturation
from ingest.engines.windows import (
    Quantile,
    Speculation,
    Window,
    aborted,
    finished,
    hit_rate,
    quantile,
    speculation,
)  # fmt: skip
from ingest.frozen import Frozen

TIMES = (
    "ttft", "itl", "tpot", "e2e", "queue", "prefill", "decode", "inference", "client_duration", "client_first_chunk",
    "client_chunk_gap", "block_lifetime", "block_idle", "block_reuse_gap",
)  # fmt: skip
SIZES = (
    "prompt_length", "generation_length", "computed_length", "step_tokens", "request_preemptions",
    "client_input_tokens", "client_output_tokens",
)  # fmt: skip
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


class Point(Frozen, frozen=True, kw_only=True):
    """A quantile and the bounds of the bucket that it lies in; ``high`` is None above the last. In nanoseconds where
    the histogram is of times."""

    value: float
    low: float
    high: float | None


class Spread(Frozen, frozen=True, kw_only=True):
    """Of a histogram's difference. ``mean`` is exact, quantiles are as fine as the buckets and the mean allow."""

    unit: str
    count: int
    sum: float
    mean: float | None
    p50: Point | None
    p90: Point | None
    p95: Point | None
    p99: Point | None


class Core(Frozen, frozen=True, kw_only=True):
    """One engine core of a data-parallel server, as of the last sample."""

    engine: str
    running: float | None
    waiting: float | None
    kv_usage: float | None


class Figures(Frozen, frozen=True, kw_only=True):
    """``seconds`` is the observed time that rates are over; ``model`` None means the whole page."""

    model: str | None
    seconds: float
    running: float | None
    waiting: float | None
    waiting_by_reason: dict[str, float]
    kv_usage: float | None
    cores: list[Core]
    saturation: Saturation
    finished: float | None
    finished_by_reason: dict[str, float]
    failed: float | None
    rejected: float | None
    aborted: tuple[int, int] | None
    preemptions: float | None
    requests_per_s: float | None
    prompt_tokens: float | None
    prompt_tokens_by_source: dict[str, float]
    generation_tokens: float | None
    prompt_tokens_per_s: float | None
    generation_tokens_per_s: float | None
    prefix_hits: float | None
    prefix_queries: float | None
    hit_rate: float | None
    hit_rate_told: float | None
    speculation: Speculation | None
    accepted_length_told: float | None
    acceptance_told: float | None
    spreads: dict[str, Spread]


def gauge(sample: Sample | None, metric: str, model: str | None = None) -> float | None:
    """Over the sample's series of it: their sum, or the highest, as the metric says."""
    if sample is None:
        return None
    told = [
        value for slot in sample.layout.slots_of(metric)
        if model in (None, slot.key.model) and (value := sample.value(slot)) is not None
    ]  # fmt: skip
    if not told:
        return None
    return max(told) if METRICS[metric].together == "max" else sum(told)


def gauge_parts(sample: Sample | None, metric: str, model: str | None = None) -> dict[str, float]:
    found: dict[str, float] = {}
    for slot in sample.layout.slots_of(metric) if sample else ():
        value = sample.value(slot) if sample else None
        if value is not None and slot.key.part is not None and model in (None, slot.key.model):
            found[slot.key.part] = found.get(slot.key.part, 0.0) + value
    return found


def cores_of(sample: Sample | None, model: str | None = None) -> list[Core]:
    """Of a server with several; one alone is the whole page."""
    told: dict[str, dict[str, float]] = {}
    for metric in ("running", "waiting", "kv_usage"):
        for slot in sample.layout.slots_of(metric) if sample else ():
            value = sample.value(slot) if sample else None
            if value is not None and slot.key.engine is not None and model in (None, slot.key.model):
                core = told.setdefault(slot.key.engine, {})
                core[metric] = (
                    max(core.get(metric, 0.0), value) if metric == "kv_usage" else core.get(metric, 0.0) + value
                )
    if len(told) < 2:
        return []
    in_order = sorted(told, key=lambda engine: (len(engine), engine))
    names = ("running", "waiting", "kv_usage")
    return [Core(engine=engine, **{name: told[engine].get(name) for name in names}) for engine in in_order]


def load_of(sample: Sample | None, told: Window, model: str | None = None) -> Load:
    return Load(
        running=gauge(sample, "running", model), waiting=gauge(sample, "waiting", model),
        kv_usage=gauge(sample, "kv_usage", model), preemptions=told.total("preemptions", model),
        asleep=bool(gauge(sample, "asleep", model)),
    )  # fmt: skip


def figures(
    told: Window,
    last: Sample | None,
    model: str | None = None,
    running: tuple[float | None, float | None] | None = None,
) -> Figures:
    """``running`` is the batch at both ends of the window, for what clients left."""
    load = load_of(last, told, model)
    ended = finished(told, model)
    return Figures(
        model=model, seconds=told.seconds, running=load.running, waiting=load.waiting,
        waiting_by_reason=gauge_parts(last, "waiting_by_reason", model), kv_usage=load.kv_usage,
        cores=cores_of(last, model), saturation=saturation(load), finished=ended,
        finished_by_reason=told.by_part("finished", model),
        failed=told.total("failed", model), rejected=told.total("rejected", model),
        aborted=aborted(told, running, model) if running is not None else None, preemptions=load.preemptions,
        requests_per_s=ended / told.seconds if ended is not None and told.seconds > 0 else None,
        prompt_tokens=told.total("prompt_tokens", model),
        prompt_tokens_by_source=told.by_part("prompt_tokens_by_source", model),
        generation_tokens=told.total("generation_tokens", model),
        prompt_tokens_per_s=told.a_second("prompt_tokens", model),
        generation_tokens_per_s=told.a_second("generation_tokens", model),
        prefix_hits=told.total("prefix_hits", model), prefix_queries=told.total("prefix_queries", model),
        hit_rate=hit_rate(told, model), hit_rate_told=gauge(last, "hit_rate_told", model),
        speculation=speculation(told, model), accepted_length_told=gauge(last, "accept_length_told", model),
        acceptance_told=gauge(last, "accept_rate_told", model),
        spreads={name: made for name in (*TIMES, *SIZES) if (made := spread(told.histogram(name, model), name))},
    )  # fmt: skip


def spread(buckets: Buckets | None, metric: str) -> Spread | None:
    """None where the window has no such histogram; with a count of 0 where it has, and nothing came."""
    if buckets is None:
        return None
    unit = METRICS[metric].unit
    scale = 1e9 if unit is Unit.SECONDS else 1.0
    mean = buckets.mean
    points = {name: _point(_held(quantile(buckets, share), mean, share), scale) for name, share in SHARES.items()}
    return Spread(
        unit="ns" if unit is Unit.SECONDS else unit.value, count=round(buckets.count), sum=buckets.sum * scale,
        mean=None if mean is None else mean * scale, **points,
    )  # fmt: skip


def _held(found: Quantile | None, mean: float | None, share: float) -> Quantile | None:
    """No further up than the mean allows: a share ``1 - share`` of the samples is as large as the quantile or larger,
    and none is below 0. A vLLM without a queue puts all waits of 0.2 ms into a bucket that ends at 0.3 s, and would
    have a p95 of 0.285 s."""
    if found is None or found.high is None or mean is None or found.low < 0:
        return found
    most = mean / (1 - share)
    if not found.low < most < found.high:
        return found
    within = (found.value - found.low) / (found.high - found.low)
    return Quantile(value=found.low + (most - found.low) * within, low=found.low, high=most)


def _point(found: Quantile | None, scale: float) -> Point | None:
    if found is None:
        return None
    return Point(
        value=found.value * scale, low=found.low * scale, high=None if found.high is None else found.high * scale
    )


def models_of(samples: Sequence[Sample]) -> list[str]:
    return sorted({model for sample in samples for model in sample.layout.models})

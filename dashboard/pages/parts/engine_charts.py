"""The charts of an engine's page: which series stand in which, as JSON for the browser and as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.figures import NOT_KNOWN, Figure, duration, percent
from dashboard.pages.parts.engine_tiles import rate
from ingest.read.engines import Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """``field`` of a metric's values; ``stage`` where it is one, which alone has a stage's colour."""

    metric: str
    field: str
    name: str
    stage: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """``unit`` is ns, share, number or rate. ``stacked`` where the parts add up (means do, quantiles do not)."""

    key: str
    title: str
    caption: str
    unit: str
    lines: Sequence[Line]
    stacked: bool = False
    top: float | None = None


def _quantiles(metric: str) -> list[Line]:
    return [Line(metric=metric, field=name, name=name) for name in ("p99", "p95", "p50")]


CHARTS = (
    Chart(key="load", title="Scheduler", caption="requests, highest of the step", unit="number",
          lines=[Line(metric="running", field="max", name="running"),
                 Line(metric="waiting", field="max", name="waiting")]),
    Chart(key="kv", title="KV cache in use", caption="share of its blocks", unit="share", top=1.0,
          lines=[Line(metric="kv_usage", field="max", name="highest"),
                 Line(metric="kv_usage", field="mean", name="mean")]),
    Chart(key="ttft", title="Time to first token", caption="of requests, queue included", unit="ns",
          lines=_quantiles("ttft")),
    Chart(key="phases", title="Where a request’s time goes", caption="mean seconds per finished request", unit="ns",
          stacked=True, lines=[Line(metric="prefill", field="mean", name="prefill", stage="prefill"),
                               Line(metric="decode", field="mean", name="decode", stage="decode"),
                               Line(metric="queue", field="mean", name="queue", stage="queue")]),
    Chart(key="queue", title="Time in the queue", caption="of finished requests", unit="ns",
          lines=_quantiles("queue")),
    Chart(key="tpot", title="Time per output token", caption="of finished requests", unit="ns",
          lines=_quantiles("tpot")),
    Chart(key="itl", title="Time between tokens", caption="a sample an engine step", unit="ns",
          lines=_quantiles("itl")),
    Chart(key="e2e", title="Whole requests", caption="arrival to finish", unit="ns", lines=_quantiles("e2e")),
    Chart(key="tokens", title="Tokens", caption="a second", unit="rate",
          lines=[Line(metric="prompt_tokens", field="per_second", name="in"),
                 Line(metric="generation_tokens", field="per_second", name="out")]),
    Chart(key="cache", title="Prefix cache hits", caption="share of the tokens looked up in the step", unit="share",
          top=1.0,
          lines=[Line(metric="hit_rate", field="share", name="hits")]),
    Chart(key="finished", title="Requests ended", caption="a second", unit="rate",
          lines=[Line(metric="finished", field="per_second", name="all")]),
    Chart(key="preemptions", title="Preemptions", caption="in the step", unit="number",
          lines=[Line(metric="preemptions", field="count", name="preempted")]),
    Chart(key="lengths", title="Lengths", caption="mean tokens a finished request", unit="number",
          lines=[Line(metric="prompt_length", field="mean", name="prompt"),
                 Line(metric="generation_length", field="mean", name="output")]),
    Chart(key="steps", title="Tokens per engine step", caption="prompt and output together", unit="number",
          lines=[Line(metric="step_tokens", field="p99", name="p99"),
                 Line(metric="step_tokens", field="mean", name="mean")]),
    Chart(key="drafts", title="Drafts accepted", caption="share of drafted tokens", unit="share", top=1.0,
          lines=[Line(metric="acceptance", field="share", name="accepted")]),
    Chart(key="accepted", title="Tokens per draft step", caption="the sure one included", unit="number",
          lines=[Line(metric="acceptance", field="accepted_length", name="tokens")]),
    Chart(key="client", title="Model calls as clients saw them", caption="by OTLP, whole calls", unit="ns",
          lines=_quantiles("client_duration")),
)  # fmt: skip
METRICS = tuple(dict.fromkeys(line.metric for chart in CHARTS for line in chart.lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A chart with its data: ``data`` for the browser, ``rows`` for the table, the newest first."""

    chart: Chart
    data: dict[str, Any]
    rows: list[tuple[int, list[Figure]]]


def draw(series: Sequence[Series]) -> list[Drawn]:
    """Those charts that have anything to show."""
    by_metric = {one.metric: one for one in series}
    return [drawn for chart in CHARTS if (drawn := _drawn(chart, by_metric)) is not None]


def _drawn(chart: Chart, by_metric: Mapping[str, Series]) -> Drawn | None:
    told = [(line, [point.values.get(line.field) for point in by_metric[line.metric].points]) for line in chart.lines]
    told = [(line, values) for line, values in told if any(value is not None for value in values)]
    if not told:
        return None
    first = by_metric[chart.lines[0].metric]
    starts = [point.start_unix_ns for point in first.points]
    data = {
        "key": chart.key, "unit": chart.unit, "stacked": chart.stacked, "top": chart.top, "step_s": first.step_s,
        "title": chart.title, "start_unix_ns": [str(start) for start in starts],
        "lines": [{"name": line.name, "stage": line.stage, "values": values} for line, values in told],
    }  # fmt: skip
    rows = [
        (start, [_figure(values[n], chart.unit) for _, values in told])
        for n, start in enumerate(starts)
        if any(values[n] is not None for _, values in told)
    ]
    return Drawn(chart=chart, data=data, rows=rows[::-1])


def _figure(value: float | None, unit: str) -> Figure:
    if value is None:
        return NOT_KNOWN
    if unit == "ns":
        return duration(round(value))
    return percent(value) if unit == "share" else rate(value)

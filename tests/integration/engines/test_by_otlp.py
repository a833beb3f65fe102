"""The same metrics sent by a collector or an SDK land in the same series, cumulative or delta."""

from __future__ import annotations

import math
import time
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
)
from prometheus_client.parser import text_string_to_metric_families

from ingest.compression import plain_compressor
from ingest.engines import otlp
from ingest.engines.otlp_points import tellings
from ingest.engines.pages import read_page
from ingest.models import Body, EngineTarget, Project
from ingest.models.telemetry import Signal
from ingest.otlp.split import digest
from ingest.partitions import today
from ingest.read.engines import EngineRow, list_engines, read_engine
from ingest.scope import Scope
from tests.captures import DATA, captures
from tests.integration.engines import served

pytestmark = pytest.mark.django_db
CUMULATIVE, DELTA = 2, 1
NS = 10**9


def pairs(**attributes: str) -> list[KeyValue]:
    return [
        KeyValue(key=key.replace("__", "."), value=AnyValue(string_value=value)) for key, value in attributes.items()
    ]


def request(service: str, *metrics: Metric, instance: str = "a:8000") -> ExportMetricsServiceRequest:
    made = ExportMetricsServiceRequest()
    of_resource = made.resource_metrics.add()
    of_resource.resource.attributes.extend(pairs(service__name=service, service__instance__id=instance))
    of_resource.scope_metrics.add().metrics.extend(metrics)
    return made


def as_collected(page: bytes, unix_ns: int) -> list[Metric]:
    """A page as a collector's Prometheus receiver sends it on: cumulative sums, gauges and explicit histograms."""
    made = []
    for family in text_string_to_metric_families(page.decode()):
        if family.type == "histogram":
            metric = Metric(name=family.name)
            metric.histogram.aggregation_temporality = CUMULATIVE
            series: dict[Any, dict[str, Any]] = {}
            for one in family.samples:
                labels = tuple(sorted((k, v) for k, v in one.labels.items() if k != "le"))
                told = series.setdefault(labels, {"buckets": []})
                if one.name.endswith("_bucket"):
                    told["buckets"].append((float(one.labels["le"]), one.value))
                else:
                    told[one.name.rpartition("_")[2]] = one.value
            for labels, told in series.items():
                counts = [count for _, count in told["buckets"]]
                metric.histogram.data_points.append(HistogramDataPoint(
                    time_unix_nano=unix_ns, attributes=pairs(**dict(labels)), count=int(told["count"]), sum=told["sum"],
                    explicit_bounds=[bound for bound, _ in told["buckets"][:-1]],
                    bucket_counts=[int(b - a) for a, b in zip([0, *counts[:-1]], counts, strict=True)],
                ))  # fmt: skip
            made.append(metric)
            continue
        for one in family.samples:
            metric = Metric(name=one.name)
            data = metric.sum if family.type == "counter" else metric.gauge
            if family.type == "counter":
                metric.sum.aggregation_temporality, metric.sum.is_monotonic = CUMULATIVE, True
            data.data_points.append(
                NumberDataPoint(time_unix_nano=unix_ns, attributes=pairs(**one.labels), as_double=one.value)
            )
            made.append(metric)
    return made


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


def keep(project: Project, told: ExportMetricsServiceRequest, received_ns: int) -> None:
    """As the receiver stores it."""
    content = told.SerializeToString()
    Body.objects.create(
        day=today(received_ns), project_id=project.pk, signal=Signal.METRICS, digest=digest(content),
        received_unix_ns=received_ns, items=1, body=plain_compressor().compress(content),
    )  # fmt: skip


def sent(project: Project, *told: ExportMetricsServiceRequest) -> EngineRow:
    """The one engine that all this is of, after it was read."""
    for number, one in enumerate(told):
        keep(project, one, time.time_ns() + number)
    assert otlp.read_new() == len(told)
    assert otlp.read_new() == 0
    (engine,) = list_engines(Scope(project_id=project.pk), time.time_ns())
    found = read_engine(Scope(project_id=project.pk), engine.id, time.time_ns())
    assert found
    return found


@pytest.mark.parametrize("run", ["run1_tiny_http", "run3_tiny_ngram"])
def test_a_collectors_page_is_the_same_reading_as_a_scraped_one(run: str) -> None:
    page = (DATA / "engines" / "snapshots" / f"{run}-s4-final.prom").read_bytes()
    (told,) = tellings(request("vllm", *as_collected(page, 5)))
    scraped = read_page(page)
    assert told.reading.layout.digest == scraped.layout.digest
    assert told.reading.values == scraped.values


def test_its_figures_are_those_of_a_scrape(project: Project) -> None:
    now_ns = time.time_ns()
    pages = (served.BEFORE, now_ns - 60 * NS), (served.REAL, now_ns)
    engine = sent(project, *(request("vllm", *as_collected(page, at_ns)) for page, at_ns in pages))
    assert (engine.name, engine.origin, engine.seen_kind, engine.state) == ("vllm a:8000", "otlp", "vllm", "up")
    assert engine.figures
    assert engine.figures.preemptions == 4
    assert engine.figures.spreads["ttft"].count == 30
    assert engine.figures.hit_rate == pytest.approx(16256 / 31522)
    assert engine.figures.seconds == pytest.approx(60)


def duration(temporality: int, unix_ns: int, counts: list[int], total: float) -> Metric:
    metric = Metric(name="gen_ai.client.operation.duration", unit="s")
    metric.histogram.aggregation_temporality = temporality
    metric.histogram.data_points.append(HistogramDataPoint(
        time_unix_nano=unix_ns, count=sum(counts), sum=total, explicit_bounds=[0.5, 1, 2], bucket_counts=counts,
        attributes=pairs(gen_ai__request__model="m", gen_ai__operation__name="chat"),
    ))  # fmt: skip
    return metric


def test_deltas_and_totals_tell_the_same(project: Project) -> None:
    now_ns = time.time_ns()
    deltas = [(-60, [9, 0, 0, 0], 1.0), (-30, [1, 2, 3, 0], 5.0), (0, [0, 0, 1, 1], 9.0)]
    engine = sent(project, *(request("shop", duration(DELTA, now_ns + s * NS, c, t)) for s, c, t in deltas))
    assert engine.figures
    spread = engine.figures.spreads["client_duration"]
    assert (spread.count, spread.sum) == (8, 14e9)
    assert spread.p95
    assert spread.p95.high is None
    assert engine.model_names == ["m"]


def test_totals_that_begin_anew_are_a_restart(project: Project) -> None:
    now_ns = time.time_ns()
    totals = [(-60, [90, 5, 5, 0], 90.0), (-30, [91, 5, 5, 0], 91.0), (0, [2, 0, 0, 0], 0.5)]
    engine = sent(project, *(request("shop", duration(CUMULATIVE, now_ns + s * NS, c, t)) for s, c, t in totals))
    assert engine.figures
    assert engine.figures.spreads["client_duration"].count == 3


def test_exponential_histograms_keep_count_sum_and_order(project: Project) -> None:
    metric = Metric(name="gen_ai.server.time_to_first_token", unit="s")
    metric.exponential_histogram.aggregation_temporality = CUMULATIVE
    point = ExponentialHistogramDataPoint(time_unix_nano=1, count=10, sum=6.0, scale=2, zero_count=1,
                                          attributes=pairs(gen_ai__request__model="m"))  # fmt: skip
    point.positive.offset = -4  # bounds of 2^(n/4): 0.5, 0.59, 0.71, 0.84, 1.0
    point.positive.bucket_counts.extend([3, 0, 4, 2])
    metric.exponential_histogram.data_points.append(point)
    (told,) = tellings(request("server", metric))
    (slot,) = told.reading.layout.slots
    values = told.reading.values
    counts = dict(zip(slot.bounds, values[slot.at :], strict=False))
    assert counts[math.inf] == values[slot.at + slot.width - 1] == 10
    assert values[slot.at + slot.width - 2] == 6.0
    at = {bound: count for bound, count in counts.items() if 0.45 < bound < 1.1}
    assert [at[bound] for bound in sorted(at)] == [1, 4, 10]
    assert slot.key.metric == "ttft"


def test_what_is_no_engines_is_left_alone(project: Project) -> None:
    metric = Metric(name="http.server.request.duration")
    metric.gauge.data_points.append(NumberDataPoint(time_unix_nano=1, as_double=1))
    keep(project, request("shop", metric), time.time_ns())
    assert otlp.read_new() == 1
    assert not EngineTarget.objects.exists()


def test_a_strange_time_is_the_time_of_receipt(project: Project) -> None:
    engine = sent(project, request("shop", duration(CUMULATIVE, 2**62, [1, 0, 0, 0], 0.1)))
    assert engine.sample_unix_ns is not None
    assert abs(engine.sample_unix_ns - time.time_ns()) < 60 * NS


def test_senders_without_end_do_not_fill_the_page(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MOST_SENDERS", 3)
    now_ns = time.time_ns()
    for number in range(6):
        metric = duration(CUMULATIVE, now_ns, [1, 0, 0, 0], 0.1)
        keep(project, request("shop", metric, instance=str(number)), now_ns)
    otlp.read_new()
    assert EngineTarget.objects.count() == 3


def test_a_broken_body_holds_nothing_up(project: Project, caplog: Any) -> None:
    now_ns = time.time_ns()
    Body.objects.create(day=today(now_ns), project_id=project.pk, signal=Signal.METRICS, digest=1,
                        received_unix_ns=now_ns - 1, items=1, body=b"no zstd")  # fmt: skip
    engine = sent_after_broken(project)
    assert engine.name == "shop a:8000"
    assert "cannot be read" in caplog.text


def sent_after_broken(project: Project) -> EngineRow:
    now_ns = time.time_ns()
    keep(project, request("shop", duration(CUMULATIVE, now_ns, [1, 0, 0, 0], 0.1)), now_ns)
    assert otlp.read_new() == 2
    (engine,) = list_engines(Scope(project_id=project.pk), time.time_ns())
    return engine


def test_what_real_sdks_send_of_their_calls_is_read() -> None:
    seen: dict[str, set[str]] = {}
    for capture in [*captures("corpus"), *captures("joined")]:
        for body in capture.bodies:
            if body.signal == "metrics" and not body.is_json:
                for told in tellings(ExportMetricsServiceRequest.FromString(body.content())):
                    seen.setdefault(told.who, set()).update(slot.key.metric for slot in told.reading.layout.slots)
    assert {"client_duration", "client_input_tokens", "client_output_tokens"} <= set().union(*seen.values())

"""Every way in which an SDK may send, on every port that listens for it."""

import json
from collections.abc import Callable, Mapping

import grpc
import httpx
import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace.export import SpanExporter

from tests.acceptance.otlp_json import JsonExporter
from tests.acceptance.sender import Sent, report_run
from tests.instance import Instance
from tests.polling import until

WAYS: Mapping[str, Callable[[Instance], SpanExporter]] = {
    "protobuf on the OTLP port": lambda to: HttpExporter(f"{to.otlp_http}/v1/traces"),
    "protobuf on the web port": lambda to: HttpExporter(f"{to.web}/v1/traces"),
    "gzip on the OTLP port": lambda to: HttpExporter(f"{to.otlp_http}/v1/traces", compression=Compression.Gzip),
    "gzip on the web port": lambda to: HttpExporter(f"{to.web}/v1/traces", compression=Compression.Gzip),
    "deflate on the OTLP port": lambda to: HttpExporter(f"{to.otlp_http}/v1/traces", compression=Compression.Deflate),
    "JSON on the OTLP port": lambda to: JsonExporter(f"{to.otlp_http}/v1/traces"),
    "JSON on the web port": lambda to: JsonExporter(f"{to.web}/v1/traces"),
    "the path of Langfuse's SDKs": lambda to: HttpExporter(f"{to.web}/api/public/otel/v1/traces"),
    "gRPC": lambda to: GrpcExporter(to.otlp_grpc, insecure=True),
    "gRPC with gzip": lambda to: GrpcExporter(to.otlp_grpc, insecure=True, compression=grpc.Compression.Gzip),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_arrives_whole_by(way: str, instance: Instance) -> None:
    exporter = WAYS[way](instance)
    try:
        sent = report_run(exporter, "clerk-service")
    finally:
        exporter.shutdown()

    run = until(lambda: _complete(instance, sent), 10, f"the run sent by {way} is whole")

    assert (run["wall_ns"], run["service"], run["version"]) == (sent.wall_ns, "clerk-service", "1.2.3")
    assert sum(run["stages_ns"].values()) + sum(run["outside_ns"].values()) == sent.wall_ns
    assert [call["ttft_ns"] for call in run["calls"]] == [100_000_000, 100_000_000]
    assert [tool["name"] for tool in run["tools"]] == ["search"]
    assert _stored(instance, sent) == sorted(sent.span_ids)


def _complete(instance: Instance, sent: Sent) -> dict | None:
    answer = instance.api.get(f"/runs/{sent.run_id}")
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    return answer.raise_for_status().json()


def _stored(instance: Instance, sent: Sent) -> list[str]:
    trace = json.loads(instance.api.get(f"/traces/{sent.trace_id}").raise_for_status().content)
    return sorted(span["span_id"] for span in trace["spans"])

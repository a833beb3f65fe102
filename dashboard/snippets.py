"""How to send to this instance, to copy: filled in with its address and, where one is needed, a key. Pure.

The Python ones are the set-up of the programs of docs/send-data.md; the acceptance tests run each of these with it.
"""

from __future__ import annotations

from dataclasses import dataclass

KEY_TO_COME = "sxi_…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """``install`` is what brings its packages, empty where none are needed."""

    key: str
    title: str
    about: str
    text: str
    install: str = ""


def snippets(otlp_http: str, otlp_grpc: str, secret: str | None) -> list[Snippet]:
    """``secret`` is an ingest key, None where none is needed."""
    return [
        Snippet(
            key="environment", title="Any OpenTelemetry SDK", about="environment variables that every SDK reads",
            text=_environment(otlp_http, secret),
        ),
        *(
            Snippet(key=key, title=title, about=about, install=f"pip install {packages}",
                    text=HEAD + imports + _exporter(otlp_http, secret) + rest)
            for key, title, about, packages, imports, rest in PYTHON
        ),
        Snippet(
            key="collector", title="OpenTelemetry Collector", about="one exporter, for every pipeline that you have",
            text=_collector(otlp_http, secret),
        ),
        Snippet(
            key="vllm", title="vLLM", about="its own queue, prefill and decode times, to the call that they served",
            text=_vllm(otlp_grpc, secret),
        ),
    ]  # fmt: skip


HEAD = 'import os\n\nos.environ.setdefault("OTEL_SERVICE_NAME", "my-agent")\n\n'
_OTLP = "from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter\n"
_BATCH = "from opentelemetry.sdk.trace.export import BatchSpanProcessor\n"
_PROVIDER = "provider = TracerProvider()\nprovider.add_span_processor(BatchSpanProcessor(exporter))\n"
PYTHON = (
    (
        "openinference_openai", "OpenInference", "and the OpenAI client",
        "openai openinference-instrumentation-openai opentelemetry-exporter-otlp",
        "from openinference.instrumentation import TracerProvider\n"
        "from openinference.instrumentation.openai import OpenAIInstrumentor\n" + _OTLP + _BATCH,
        _PROVIDER + "OpenAIInstrumentor().instrument(tracer_provider=provider)\n",
    ),
    (
        "openllmetry_openai", "OpenLLMetry", "and the OpenAI client",
        "openai opentelemetry-instrumentation-openai opentelemetry-exporter-otlp",
        "from opentelemetry import trace\n" + _OTLP
        + "from opentelemetry.instrumentation.openai import OpenAIInstrumentor\n"
        + "from opentelemetry.sdk.trace import TracerProvider\n" + _BATCH,
        _PROVIDER + "trace.set_tracer_provider(provider)\nOpenAIInstrumentor().instrument()\n",
    ),
    (
        "pydantic_ai_agent", "pydantic-ai", "agents, tools and calls by itself",
        '"pydantic-ai-slim[openai]" opentelemetry-exporter-otlp',
        _OTLP + "from opentelemetry.sdk.trace import TracerProvider\n" + _BATCH
        + "from pydantic_ai import Agent, InstrumentationSettings\n",
        _PROVIDER + "Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))\n",
    ),
)  # fmt: skip


def _exporter(otlp_http: str, secret: str | None) -> str:
    headers = f', headers={{"authorization": "Bearer {secret}"}}' if secret else ""
    return f'\nexporter = OTLPSpanExporter(endpoint="{otlp_http}/v1/traces"{headers})\n'


def _environment(otlp_http: str, secret: str | None) -> str:
    lines = [
        "export OTEL_SERVICE_NAME=my-agent", f"export OTEL_EXPORTER_OTLP_ENDPOINT={otlp_http}",
        "export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
    ]  # fmt: skip
    if secret:
        lines.append(f'export OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20{secret}"')
    return "\n".join(lines) + "\n"


def _collector(otlp_http: str, secret: str | None) -> str:
    headers = f'    headers: {{authorization: "Bearer {secret}"}}\n' if secret else ""
    pipelines = "".join(
        f"    {signal}: {{receivers: [otlp], processors: [batch], exporters: [otlphttp/sixstage]}}\n"
        for signal in ("traces", "metrics", "logs")
    )
    return (
        "receivers:\n  otlp:\n    protocols:\n      grpc: {endpoint: 127.0.0.1:14317}\n"
        "      http: {endpoint: 127.0.0.1:14318}\nprocessors:\n  batch: {timeout: 1s}\n"
        f"exporters:\n  otlphttp/sixstage:\n    endpoint: {otlp_http}\n{headers}service:\n  pipelines:\n{pipelines}"
    )


def _vllm(otlp_grpc: str, secret: str | None) -> str:
    headers = f'OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20{secret}" ' if secret else ""
    return f"OTEL_SERVICE_NAME=vllm-0 {headers}vllm serve MODEL --otlp-traces-endpoint {otlp_grpc}\n"

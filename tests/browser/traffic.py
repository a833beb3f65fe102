"""Runs for the pages to show, sent as any agent would: through the OpenTelemetry SDK and OTLP."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Span, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

from tests.instance import Instance
from tests.polling import until

MS = 10**6
HOSTILE = '<img src=x onerror="document.title=\'owned\'"><script>document.title="owned"</script>'
SHOP, WATCHED = "browser-shop", "browser-watched"
HOSTILE_SERVICE, LARGE_SERVICE = "browser-hostile", "browser-large"
LARGE = 2000


@dataclass(frozen=True)
class Traffic:
    """Which runs were sent, by what they are for."""

    shop: list[str]
    failed: str
    hostile: str
    large: str


class Reporter:
    """One agent's spans, in milliseconds from the run's start; the run has just ended."""

    def __init__(self, instance: Instance, service: str, name: str, wall_ms: int) -> None:
        self.provider = TracerProvider(
            resource=Resource({"service.name": service, "service.version": "1.2.3"}), shutdown_on_exit=False
        )
        # Sent when flushed, so in as few requests as fit.
        self.provider.add_span_processor(
            BatchSpanProcessor(OTLPSpanExporter(f"{instance.otlp_http}/v1/traces"), max_queue_size=8192)
        )
        self.tracer = self.provider.get_tracer("tests.browser")
        self.start = time.time_ns() - wall_ms * MS
        self.wall_ms = wall_ms
        agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        self.root = self.tracer.start_span(f"invoke_agent {name}", start_time=self.start, attributes=agent)

    def call(self, begin_ms: int, end_ms: int, first_ms: int, **attributes: str) -> Span:
        usage = {
            "gen_ai.usage.input_tokens": 1000,
            "gen_ai.usage.cache_read.input_tokens": 700,
            "gen_ai.usage.output_tokens": 20,
        }
        told = {"gen_ai.request.model": "tiny-70b", "gen_ai.response.time_to_first_chunk": first_ms / 1000, **usage}
        return self.span(
            "chat tiny-70b",
            "chat",
            begin_ms,
            end_ms,
            **told,
            **{k.replace("__", "."): v for k, v in attributes.items()},
        )

    def tool(self, name: str, begin_ms: int, end_ms: int, *, failed: bool = False, **attributes: str) -> Span:
        told = {k.replace("__", "."): v for k, v in attributes.items()}
        return self.span(
            f"execute_tool {name}",
            "execute_tool",
            begin_ms,
            end_ms,
            failed=failed,
            **{"gen_ai.tool.name": name},
            **told,
        )

    def span(
        self,
        name: str,
        operation: str | None,
        begin_ms: float,
        end_ms: float,
        *,
        parent: Span | None = None,
        failed: bool = False,
        **attributes: object,
    ) -> Span:
        span = self.tracer.start_span(
            name, set_span_in_context(parent or self.root), SpanKind.CLIENT, start_time=self.start + int(begin_ms * MS)
        )
        if operation:
            span.set_attribute("gen_ai.operation.name", operation)
        span.set_attributes(attributes)  # type: ignore[arg-type]
        if failed:
            span.set_attribute("error.type", "TimeoutError")
            span.set_status(Status(StatusCode.ERROR, "timed out after 3 s"))
        span.end(self.start + int(end_ms * MS))
        return span

    def send(self, *, failed: bool = False) -> str:
        """The run's id, once the receiver has acknowledged its spans."""
        if failed:
            self.root.set_status(Status(StatusCode.ERROR, "the agent gave up"))
        self.root.end(self.start + self.wall_ms * MS)
        assert self.provider.force_flush()
        self.provider.shutdown()
        context = self.root.get_span_context()
        return f"{context.trace_id:032x}-{context.span_id:016x}"


def shop_run(instance: Instance, *, failed: bool = False, slower_ms: int = 0, service: str = SHOP) -> str:
    run = Reporter(instance, service, "shop-agent", 1000 + slower_ms)
    run.call(10, 410, 120)
    run.tool("search_orders", 420, 620 + slower_ms, gen_ai__tool__call__arguments='{"order": "88-1042"}')
    run.tool("get_policy", 421, 520, failed=failed)
    run.call(630 + slower_ms, 980 + slower_ms, 150)
    return run.send(failed=failed)


def hostile_run(instance: Instance) -> str:
    """Names and texts that try to be more than text."""
    run = Reporter(instance, HOSTILE_SERVICE, HOSTILE, 900)
    prompt = json.dumps(
        [{"role": "user", "parts": [{"type": "text", "content": HOSTILE + " 你好 مرحبا 🙂 \u202egnp.exe"}]}]
    )
    run.call(10, 410, 100, gen_ai__input__messages=prompt)
    run.tool("a\u202eb\x1b[31m" + HOSTILE, 420, 600, gen_ai__tool__call__result=HOSTILE * 4000)
    run.call(610, 880, 100)
    return run.send()


def large_run(instance: Instance) -> str:
    """Two thousand spans below one agent."""
    run = Reporter(instance, LARGE_SERVICE, "large-agent", 60_000)
    for i in range(LARGE // 4):
        at = i * 119
        call = run.call(at, at + 60, 20)
        run.span("POST /v1/chat/completions", None, at + 1, at + 59, parent=call)
        run.tool(f"lookup_{i % 7}", at + 61, at + 110)
        run.span("log", None, at + 111, at + 112)
    return run.send()


def send_traffic(instance: Instance) -> Traffic:
    shop = [shop_run(instance, slower_ms=300 * i) for i in range(3)]
    traffic = Traffic(
        shop=shop, failed=shop_run(instance, failed=True), hostile=hostile_run(instance), large=large_run(instance)
    )
    for run_id in [*traffic.shop, traffic.failed, traffic.hostile, traffic.large]:
        until(lambda run_id=run_id: _settled(instance, run_id), 60, f"run {run_id} is decomposed")  # type: ignore[misc]
    return traffic


def _settled(instance: Instance, run_id: str) -> bool:
    answer = instance.api.get(f"/runs/{run_id}")
    return answer.status_code == 200 and not answer.json()["provisional"]

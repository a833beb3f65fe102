"""From ended spans to a collector: in batches, off the agent's path, quiet when nobody answers."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from ipaddress import ip_address
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

logger = logging.getLogger("agents.telemetry")

TRACES_PATH = "/v1/traces"
RETRY_FOR_S = 10.0  # how long one batch is retried: OpenTelemetry's own default

# What the SDK's exporter logs while we export on this thread. It would log every try; we log every outage.
_sdk_said: ContextVar[list[str] | None] = ContextVar("sdk_said", default=None)


class _CatchOurs(logging.Filter):
    """Keeps the SDK's log lines about *our* exports out of the log; other exporters' pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        said = _sdk_said.get()
        if said is None:
            return True
        said.append(record.getMessage())
        return False


logging.getLogger(OTLPSpanExporter.__module__).addFilter(_CatchOurs())


class Outage:
    """Says once that a collector is away, and once that it is back. Share one between several senders."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.away = False
        self._since_ns = 0
        self._lock = threading.Lock()

    def failed(self, reason: str) -> None:
        with self._lock:
            first, self.away = not self.away, True
            if first:
                self._since_ns = time.monotonic_ns()
        if first:
            logger.warning(
                "Spans cannot be sent to %s (%s). The agent goes on; spans of this time are lost.",
                self.url,
                reason,
            )

    def worked(self, began_ns: int) -> None:
        """A batch sent from ``began_ns`` (monotonic) on was taken; one from before the outage says nothing."""
        with self._lock:
            back = self.away and began_ns >= self._since_ns
            self.away = self.away and not back
        if back:
            logger.warning("Spans are sent to %s again.", self.url)


class SpanSender(SpanExporter):
    """The OTLP/HTTP exporter, with one log line for an outage instead of one for each try."""

    def __init__(self, url: str, headers: Mapping[str, str], outage: Outage) -> None:
        self.outage = outage
        self.busy = False
        self._otlp = OTLPSpanExporter(endpoint=url, headers=dict(headers), timeout=RETRY_FOR_S, session=_session(url))

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        said: list[str] = []
        token = _sdk_said.set(said)
        began_ns = time.monotonic_ns()
        self.busy = True
        try:
            result = self._otlp.export(spans)
        finally:
            self.busy = False
            _sdk_said.reset(token)
        if result is SpanExportResult.SUCCESS:
            self.outage.worked(began_ns)
        else:
            self.outage.failed(_reason(said))
        return result

    def shutdown(self) -> None:
        if self.busy:  # still trying when the time to wait was over
            self.outage.failed("no answer before the end")
        token = _sdk_said.set([])
        try:
            self._otlp.shutdown()  # type: ignore[no-untyped-call]
        finally:
            _sdk_said.reset(token)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True  # holds nothing back; the batches are the processor's


class Batches(BatchSpanProcessor):
    """OpenTelemetry's batch processor, whose last flush takes no longer than ``close_s`` seconds."""

    def __init__(self, sender: SpanSender, *, every_s: float, close_s: float) -> None:
        super().__init__(sender, schedule_delay_millis=every_s * 1000)
        self._sender, self._close_s = sender, close_s

    def shutdown(self) -> None:
        # The public method waits up to 30 s for a collector that is away, and offers no other number.
        close_s = min(1.0, self._close_s) if self._sender.outage.away else self._close_s
        self._batch_processor.shutdown(timeout_millis=int(close_s * 1000))


def traces_url(endpoint: str) -> str:
    """The URL that spans are posted to: the base that a user gives, or the full path where given."""
    parts = urlsplit(endpoint)
    try:
        known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number
        known = False
    if not known:
        raise ValueError(f"OTLP endpoint {endpoint!r}: expected http://host:port")
    base = endpoint.rstrip("/")
    return base if base.endswith(TRACES_PATH) else base + TRACES_PATH


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _session(url: str) -> requests.Session:
    session = requests.Session()
    # A proxy set for the outside world must not swallow what goes to this machine.
    session.trust_env = not is_loopback(url)
    return session


def _reason(said: Sequence[str]) -> str:
    text = " ".join(said)
    if "refused" in text:
        return "connection refused"
    return said[-1][:160].rstrip(".") if said else "no reason given"

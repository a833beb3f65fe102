"""The ``http_*`` families that vLLM's server has from its web framework's instrumentation."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram, Summary

_FINE = (0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60)
_COARSE = (0.1, 0.5, 1)


class HttpFamilies:
    def __init__(self, registry: CollectorRegistry) -> None:
        by = ["handler", "method"]
        self._requests = Counter(
            "http_requests_total",
            "Total number of requests by method, status and handler.",
            ["method", "status", "handler"],
            registry=registry,
        )
        self._request_size = Summary(
            "http_request_size_bytes", "Content length of incoming requests by handler.", ["handler"], registry=registry
        )
        self._response_size = Summary(
            "http_response_size_bytes",
            "Content length of outgoing responses by handler.",
            ["handler"],
            registry=registry,
        )
        self._fine = Histogram(
            "http_request_duration_highr_seconds",
            "Latency with many buckets but no API specific labels.",
            buckets=_FINE,
            registry=registry,
        )
        self._coarse = Histogram(
            "http_request_duration_seconds",
            "Latency with only few buckets by handler.",
            by,
            buckets=_COARSE,
            registry=registry,
        )

    def seen(self, handler: str, method: str, status: int, request_bytes: int, lasted_s: float) -> None:
        """One answered request. As there, a stream has no content length: its response counts as 0 bytes."""
        self._requests.labels(method=method, status=f"{status // 100}xx", handler=handler).inc()
        self._request_size.labels(handler=handler).observe(request_bytes)
        self._response_size.labels(handler=handler).observe(0)
        self._fine.observe(lasted_s)
        self._coarse.labels(handler=handler, method=method).observe(lasted_s)

"""Every figure that a process counts, with its name and meaning. Names follow the conventions of Prometheus.

The numbers here are this process's own; ``processes`` adds those of all. A histogram whose bounds change needs a
new name, since sums go over processes of the old and the new version.
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Histogram

REGISTRY = CollectorRegistry()
QUICK_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
LAG_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 60, 300, 1800)
BYTES = (1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20, 16 << 20, 64 << 20)


def _counter(name: str, meaning: str, *labels: str) -> Counter:
    return Counter(f"sixstage_{name}", meaning, labels, registry=REGISTRY)


def _histogram(name: str, meaning: str, bounds: tuple[float, ...], *labels: str) -> Histogram:
    return Histogram(f"sixstage_{name}", meaning, labels, buckets=bounds, registry=REGISTRY)


# Labels hold the project's number here; its short name is put in its place when figures are shown.
RECEIVED_REQUESTS = _counter("received_requests", "Export requests, answered well or refused", "signal", "project")
RECEIVED_BYTES = _counter("received_bytes", "Bytes of accepted bodies, as they came over the wire", "signal", "project")
REFUSED_REQUESTS = _counter(
    "refused_requests", "Export requests refused whole", "signal", "project", "key", "reason"
)  # fmt: skip
REFUSED_ITEMS = _counter(
    "refused_items", "Spans, log records or metrics left out of accepted requests", "signal", "project", "key", "reason"
)  # fmt: skip
ACK_SECONDS = _histogram("ack_seconds", "From a request's head to its answer after the commit", QUICK_S, "signal")

STORED_ITEMS = _counter("stored_items", "Spans, log records or metrics committed, repeats too", "signal", "project")
DUPLICATE_CHUNKS = _counter("duplicate_chunks", "Parts of requests that were stored already: a client's retries")
COMMIT_SECONDS = _histogram("commit_seconds", "Time of a transaction that stores", QUICK_S)
COMMIT_BYTES = _histogram("commit_bytes", "What a transaction stores, before compression", BYTES)

DECOMPOSED_TRACES = _counter("decomposed_traces", "Traces whose runs were written")
DECOMPOSED_SPANS = _counter("decomposed_spans", "Spans of these traces; a trace that grows counts each time")
WRITTEN_ROWS = _counter("written_rows", "Rows written for runs, calls and tools", "table")
DECOMPOSE_SECONDS = _histogram("decompose_seconds", "Time of a pass over claimed traces", QUICK_S)
FAILED_TRACES = _counter("failed_traces", "Tries of traces that failed; each is set aside for a while")
VISIBLE_LAG_SECONDS = _histogram(
    "visible_lag_seconds", "From the receipt of a trace's newest spans to its runs being visible", LAG_S
)

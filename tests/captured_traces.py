"""The captures' traces as a worker would read them, and the runs that they make, without a database."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from ingest.compression import plain_compressor
from ingest.log_chunks import spans_with_events
from ingest.models.telemetry import Signal
from ingest.otlp.json_form import parse_json
from ingest.otlp.requests import Refusals, parse_protobuf
from ingest.otlp.split import split_logs, split_traces
from ingest.semconv import Kind, read_facts
from ingest.spans import Span
from ingest.stages import Decomposition, decompose
from ingest.stages.estimate import Bases
from tests.captures import Capture

SIGNALS = {"traces": Signal.TRACES, "logs": Signal.LOGS}


@cache
def traces_of(capture: Capture) -> dict[str, tuple[Span, ...]]:
    """The capture's spans by trace, in the order of arrival, with the events that came as log records."""
    folded: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for body in capture.bodies:
        signal = SIGNALS.get(body.signal)
        if signal is None:
            continue
        request = (parse_json if body.is_json else parse_protobuf)(signal, body.content(), Refusals())
        parts = split_traces(request, Refusals()) if signal is Signal.TRACES else split_logs(request)[0]
        for part in parts:
            folded[part.trace_id.hex()].append((signal, plain_compressor().compress(part.content)))
    return {trace_id: tuple(spans_with_events(bodies, trace_id)) for trace_id, bodies in sorted(folded.items())}


def decompositions_of(capture: Capture, bases: Bases | None = None) -> dict[str, Decomposition]:
    """Each trace's runs, engines' spans that came without trace context having joined the calls they served."""
    traces = traces_of(capture)
    lone = {trace_id: spans for trace_id, spans in traces.items() if is_engines_own(spans)}
    offered = [span for spans in lone.values() for span in spans]
    found = {}
    for trace_id, spans in traces.items():
        if trace_id not in lone:
            found[trace_id] = decompose(spans, offered, bases)
    told = {c.response_id for one in found.values() for run in one.runs for c in run.calls if c.response_id}
    for trace_id, spans in lone.items():
        if not any(read_facts(span).response_id in told for span in spans):
            found[trace_id] = decompose(spans)
    return found


def is_engines_own(spans: tuple[Span, ...]) -> bool:
    """Whether the trace holds nothing but requests that an engine served."""
    return bool(spans) and all(read_facts(span).kind is Kind.ENGINE for span in spans)

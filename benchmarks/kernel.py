"""Row 6: what reading a span's facts and decomposing its trace cost on one core, and how that grows with the trace.

`python -m benchmarks.kernel FILE` measures in a process of its own, with the collector as calm as a worker's.
"""

from __future__ import annotations

import gc
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benchmarks.report import Result, Row
from tests.instance import ROOT

if TYPE_CHECKING:
    from ingest.spans import Span

LOAD_SPANS = 6_144
SHORT, LONG = 1_000, 100_000
SLICE_TRACES = 64  # a slice is short enough to run undisturbed now and then, even on a busy machine
SECONDS = 4.0  # for each of the best slices
TRIES_LONG = 4
STAGGER_NS = 250_000_000  # about twenty rounds at a time, in the long trace as in the short ones


def measure_kernel() -> Result:
    """Make a load, and measure it in a fresh process."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="sixstage-kernel-") as folder:
        dump = Path(folder) / "load"
        script = ROOT / "tests/tools/otlp_load.py"
        load = [sys.executable, str(script), "http://127.0.0.1:1/", f"--spans={LOAD_SPANS}", f"--dump={dump}"]
        subprocess.run(load, stdout=subprocess.DEVNULL, timeout=60, check=True)
        environ = os.environ | {"SIXSTAGE_DATA_DIR": folder, "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
        told = subprocess.run(
            [sys.executable, "-m", "benchmarks.kernel", str(dump)],
            env=environ, cwd=ROOT, stdout=subprocess.PIPE, timeout=180, check=True,
        ).stdout  # fmt: skip
    found: dict[str, Any] = json.loads(told)
    growth = max(found["growth"].values())
    return Result(
        rows=[
            Row(6, "adapters and decompose, on one core", found["per_s"], 25_000, 60_000, "spans/s", more=True),
            Row(6, f"cost per span, {LONG:,} spans in a trace to {SHORT:,}", growth, 1.5, 1.0, "times", digits=2),
        ],
        facts={
            "growth by the trace's shape": {name: round(times, 2) for name, times in found["growth"].items()},
            "CPU us per span": found["us"],
            "load average before and after": [round(before, 2), round(os.getloadavg()[0], 2)],
        },
        faults=[],
        read_back=False,
    )


def main(dump: Path) -> None:
    import django

    django.setup()
    from ingest import collector

    traces = list(read_traces(dump))
    collector.calm()
    us = {"read from its chunk": round(_reading_us(dump), 1), "facts": round(_facts_us(traces), 1)}
    us["facts and decompose"] = round(_decompose_us(traces[:SLICE_TRACES]), 1)
    growth = {}
    for name, overlapping in (("rounds one after another", False), ("rounds side by side", True)):
        # As many spans in short traces as in the long one, so that neither finds its spans in the cache.
        shorts = [long_trace(traces[n:] + traces[:n], SHORT, overlapping) for n in range(LONG // SHORT)]
        long = [long_trace(traces, LONG, overlapping)]
        collector.calm()
        growth[name] = _growth(shorts, long)
    # Once more, later: a machine shared with others is slow for minutes on end.
    us["facts and decompose"] = min(us["facts and decompose"], round(_decompose_us(traces[:SLICE_TRACES]), 1))
    json.dump({"per_s": 1e6 / us["facts and decompose"], "growth": growth, "us": us}, sys.stdout)


def chunks_of(dump: Path) -> Iterator[tuple[str, list[bytes]]]:
    """Each trace's id and chunks, as the receiver stores them."""
    import zstandard
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    from ingest.otlp.requests import Refusals
    from ingest.otlp.split import split_traces

    raw, at = dump.read_bytes(), 0
    chunks: dict[bytes, list[bytes]] = {}
    while at < len(raw):
        size = struct.unpack_from("<I", raw, at)[0]
        request = ExportTraceServiceRequest.FromString(raw[at + 4 : at + 4 + size])
        at += 4 + size
        for part in split_traces(request, Refusals()):
            chunks.setdefault(part.trace_id, []).append(zstandard.compress(part.content))
    for trace_id, bodies in chunks.items():
        yield trace_id.hex(), bodies


def read_traces(dump: Path) -> Iterator[list[Span]]:
    from ingest.chunks import spans_of

    for trace_id, bodies in chunks_of(dump):
        yield [span for body in bodies for span in spans_of(body, trace_id)]


def long_trace(traces: Sequence[list[Span]], size: int, overlapping: bool) -> list[Span]:
    """One agent's run of ``size`` spans, made of the calls and tools of many runs."""
    root = next(span for span in traces[0] if span.parent_span_id is None)
    made, begin = [], root.start_unix_ns
    for number, trace in enumerate(cycle(traces)):
        top = next((span for span in trace if span.parent_span_id is None), None)
        if top is None:
            continue
        move = begin - top.start_unix_ns
        for span in trace:
            if span is not top:
                made.append(_moved(span, root, number, move, is_step=span.parent_span_id == top.span_id))
        begin += STAGGER_NS if overlapping else top.end_unix_ns - top.start_unix_ns
        if len(made) >= size - 1:
            break
    last = max(span.end_unix_ns for span in made)
    return [*made[: size - 1], replace(root, end_unix_ns=last)]


def _moved(span: Span, root: Span, number: int, move_ns: int, is_step: bool) -> Span:
    return replace(
        span,
        trace_id=root.trace_id,
        span_id=f"{number:08x}{span.span_id[:8]}",
        parent_span_id=root.span_id if is_step else f"{number:08x}{(span.parent_span_id or '')[:8]}",
        start_unix_ns=span.start_unix_ns + move_ns,
        end_unix_ns=span.end_unix_ns + move_ns,
        events=tuple(replace(event, unix_ns=event.unix_ns + move_ns) for event in span.events),
    )


def _growth(shorts: Sequence[list[Span]], long: Sequence[list[Span]]) -> float:
    """Taken in turns, so that a busy minute of the machine makes both dear."""
    pairs = [(_decompose_us(long, 1), _decompose_us(shorts, 1)) for _ in range(TRIES_LONG)]
    return min(dear for dear, _ in pairs) / min(cheap for _, cheap in pairs)


def _decompose_us(traces: Sequence[list[Span]], tries: int = 0) -> float:
    from ingest.stages import decompose

    def work() -> None:
        for trace in traces:
            decompose(trace)

    return _best_s(work, tries) / sum(map(len, traces)) * 1e6


def _facts_us(traces: Sequence[list[Span]]) -> float:
    from ingest.semconv import read_facts

    spans = [span for trace in traces[:SLICE_TRACES] for span in trace]

    def work() -> None:
        for span in spans:
            read_facts(span)

    return _best_s(work) / len(spans) * 1e6


def _reading_us(dump: Path) -> float:
    from ingest.chunks import spans_of

    chunks = [(body, of) for of, bodies in list(chunks_of(dump))[:SLICE_TRACES] for body in bodies]
    spans = 0

    def work() -> None:
        nonlocal spans
        spans = sum([len(list(spans_of(body, trace_id))) for body, trace_id in chunks])

    return _best_s(work) / spans * 1e6


def _best_s(work: Any, tries: int = 0) -> float:
    """CPU time of the best of ``tries``, or of as many as SECONDS allow: the rest were disturbed by others."""
    from ingest import collector

    best, until_s, done = float("inf"), time.monotonic() + SECONDS, 0
    while done < tries or (not tries and (done < 3 or time.monotonic() < until_s)):
        gc.collect()
        began_s = time.process_time()
        with collector.put_off():
            work()
        best, done = min(best, time.process_time() - began_s), done + 1
    return best


if __name__ == "__main__":
    main(Path(sys.argv[1]))

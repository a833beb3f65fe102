"""What a worker counts of its passes over dirty traces."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ingest.observing import measures
from ingest.stages.model import Run

log = logging.getLogger(__name__)


def written(received_unix_ns: Sequence[int], spans: int, runs: Sequence[Run]) -> None:
    """The runs of traces are committed, so they can be seen. ``received_unix_ns`` is of each trace's newest spans."""
    now_ns = time.time_ns()
    for received_ns in received_unix_ns:
        measures.VISIBLE_LAG_SECONDS.observe(max(0, now_ns - received_ns) / 1e9)
    measures.DECOMPOSED_TRACES.inc(len(received_unix_ns))
    measures.DECOMPOSED_SPANS.inc(spans)
    rows = measures.WRITTEN_ROWS
    rows.labels("run").inc(len(runs))
    rows.labels("call").inc(sum([len(run.calls) for run in runs]))
    rows.labels("tool").inc(sum([len(run.tools) for run in runs]))


def passed(began_s: float) -> None:
    """A pass that claimed something is over; ``began_s`` is of ``time.perf_counter``."""
    measures.DECOMPOSE_SECONDS.observe(time.perf_counter() - began_s)


def failed(trace_id: bytes, project_id: int, error: Exception) -> None:
    """A try of this trace has failed; the line in the log names it."""
    measures.FAILED_TRACES.inc()
    log.error(
        "trace %s could not be decomposed", trace_id.hex(), exc_info=error,
        extra={"trace_id": trace_id.hex(), "project": project_id},
    )  # fmt: skip

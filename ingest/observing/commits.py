"""What the store counts of its transactions: once a commit, by project and signal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ingest.models.telemetry import Signal
from ingest.observing import measures


def committed(batches: Sequence[Any], began_s: float, inserted_chunks: int) -> None:
    """These batches of the store are in one commit, which began at ``began_s`` of ``time.perf_counter``."""
    measures.COMMIT_SECONDS.observe(time.perf_counter() - began_s)
    measures.COMMIT_BYTES.observe(sum(batch.size_bytes for batch in batches))
    items: Counter[tuple[int, int]] = Counter()
    chunks = 0
    for batch in batches:
        for part in (*batch.parts, *([batch.rest] if batch.rest else ())):
            items[part.signal, batch.project_id] += part.items
        chunks += len(batch.parts)
    for (signal, project_id), count in items.items():
        measures.STORED_ITEMS.labels(Signal(signal).label.lower(), str(project_id)).inc(count)
    if chunks > inserted_chunks:
        measures.DUPLICATE_CHUNKS.inc(chunks - inserted_chunks)

"""Traces that were set aside get another chance, and a worker hears of it."""

from __future__ import annotations

import time

from ingest import wake
from ingest.observing import queue
from ingest.scope import Scope


def try_again(scope: Scope, trace_id: bytes | None = None) -> int:
    """Give one failed trace, or all of the project, its tries back; returns how many."""
    count = queue.try_again(scope, time.time_ns(), trace_id)
    if count:
        wake.publish()
    return count

"""Python's cycle collector in a worker: a pass makes many short-lived objects and hardly a cycle, and by default
collecting costs half as much as decoding them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (50_000, 20, 50)


def calm() -> None:
    """Let it look less often, and never at what is there by now."""
    leave_alone()
    gc.set_threshold(*THRESHOLDS)


def leave_alone() -> None:
    """Never look again at what is there by now."""
    gc.collect()
    gc.freeze()


@contextmanager
def put_off() -> Iterator[None]:
    """Do not look before the end: what a pass holds is in use until then, and afterwards most of it is gone. In a trace
    of 100,000 spans, looking meanwhile costs a twentieth."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()

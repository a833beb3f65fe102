"""Gives free memory back to the system: after a burst the C library keeps what lies between what is still in use."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """A millisecond or two where there is little to give. Other C libraries than glibc have no such call and do as
    they do."""
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    trim: Callable[[int], object] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return trim or (lambda _: None)

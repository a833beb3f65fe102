"""Sorting by a key that begins with the start."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq
from typing import Any, TypeVar

T = TypeVar("T")


def sort_by_start(items: list[T], start: Callable[[T], int], key: Callable[[T], Any]) -> None:
    """Into the order of ``key``, whose first part is ``start``. It is asked only where two start at once."""
    items.sort(key=start)
    starts = list(map(start, items))
    if any(map(eq, starts, starts[1:])):
        items.sort(key=key)

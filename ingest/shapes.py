"""Spans of one emitter come in few shapes: the same attributes in the same order. What follows from the keys alone
is worked out once for each shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MAX_SHAPES = 4_096


class Shape:
    """One set of attribute keys, and what its readers remember of it.

    ``memory`` is theirs to fill: (what was worked out from, what came of it), by the identity of the former, which the
    entry keeps alive. It is dropped whole when it is full.
    """

    MAX_MEMORY = 256
    __slots__ = ("keys", "memory")

    def __init__(self, keys: tuple[str, ...]) -> None:
        self.keys = frozenset(keys)
        self.memory: dict[int, tuple[Any, Any]] = {}

    def remember(self, source: object, result: Any) -> Any:
        if len(self.memory) >= self.MAX_MEMORY:
            self.memory.clear()
        self.memory[id(source)] = source, result
        return result


_shapes: dict[tuple[str, ...], Shape] = {}


def shape_of(attributes: Mapping[str, Any]) -> Shape:
    """The shape of these attributes; stored ones carry theirs."""
    shape = getattr(attributes, "shape", None)
    return shape if shape is not None else shape_by(tuple(attributes))


def shape_by(keys: tuple[str, ...]) -> Shape:
    shape = _shapes.get(keys)
    if shape is None:
        if len(_shapes) >= MAX_SHAPES:
            _shapes.clear()
        shape = _shapes[keys] = Shape(keys)
    return shape

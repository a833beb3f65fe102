"""Value classes that are cheap to make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

_T = TypeVar("_T")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[_T]) -> type[_T]:
    """A frozen, keyword-only dataclass with slots, frozen by the type checker instead of at run time.

    A dataclass that freezes itself sets each field by a call, so that it takes three times as long to make; of
    these classes one or more are made for every span.
    """
    return dataclass(slots=True, kw_only=True, unsafe_hash=True)(cls)

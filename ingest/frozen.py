"""Values that are cheap to make: one or more of them are made for every span."""

from __future__ import annotations

from msgspec import Struct


class Frozen(Struct, frozen=True, kw_only=True, gc=False):
    """A frozen value with keyword arguments; subclasses repeat both options, for Struct and for type checkers.

    Made in C, in a third of a dataclass's time, and unknown to the cycle collector: no value may lead back to itself.
    """

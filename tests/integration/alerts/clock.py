"""The minutes of these tests: after a noon in November 2023."""

from __future__ import annotations

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
NOON = 1_700_049_600 * SECOND_NS


def minute_ns(minute: float) -> int:
    """Half a minute after a minute after noon, when its window is complete."""
    return NOON + round(minute * MINUTE_NS) + 30 * SECOND_NS

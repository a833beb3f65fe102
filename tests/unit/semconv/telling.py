"""Spans that say what a test wants them to say."""

from __future__ import annotations

from typing import Any

from ingest.semconv import Facts, read_facts
from ingest.spans import Event, Span

NOON = 1_780_000_000_000_000_000
MS = 1_000_000


def span(name: str = "span", *, events: tuple[Event, ...] = (), kind: int = 1, **changes: Any) -> Span:
    told = {
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "parent_span_id": None,
        "start_unix_ns": NOON,
        "end_unix_ns": NOON + 1_000 * MS,
    }
    return Span(name=name, kind=kind, events=events, **{**told, **changes})


def facts(attributes: dict[str, Any], name: str = "span", **changes: Any) -> Facts:
    return read_facts(span(name, attributes=attributes, **changes))


def event(name: str, ms: float, **attributes: Any) -> Event:
    return Event(name=name, unix_ns=NOON + round(ms * MS), attributes=attributes)


def first_tokens(known: Facts) -> list[tuple[float, str | None]]:
    """Claims of a first token: ms after the span's start, and the reason to doubt it."""
    return [((claim.unix_ns - NOON) / MS, claim.doubt) for claim in known.first_tokens]

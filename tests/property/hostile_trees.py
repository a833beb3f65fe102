"""Big traces of one shape, some kinds of spans in turn, one pattern of time: what a hostile sender may build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ingest.spans import Span
from tests.property.drawn_traces import NOON, TRACE

MS = 1_000_000
_ASKS = '[{"role":"assistant","parts":[{"type":"tool_call","name":"t","id":"i"}]}]'
_CHAT = {"gen_ai.operation.name": "chat"}
KINDS: Mapping[str, Mapping[str, Any]] = {
    "agent": {"gen_ai.operation.name": "invoke_agent"},
    "workflow": {"traceloop.span.kind": "workflow"},
    "call": {**_CHAT, "gen_ai.response.time_to_first_chunk": 0.001, "gen_ai.response.id": "r"},
    "asking call": {**_CHAT, "gen_ai.output.messages": _ASKS},
    "tool": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"},
    "request": {"http.request.method": "POST"},
    "engine": {
        "gen_ai.latency.time_to_first_token": 0.1,
        "gen_ai.latency.e2e": 0.2,
        "gen_ai.request.id": "r",
    },
    "mcp": {"mcp.method.name": "tools/call", "gen_ai.tool.name": "t"},
    "plain": {},
}

# Who is whose parent: (number, size) -> number.
SHAPES: Mapping[str, Callable[[int, int], int | None]] = {
    "flat": lambda n, _: None,
    "wide": lambda n, _: 0 if n else None,
    "deep": lambda n, _: n - 1 if n else None,
    "comb": lambda n, _: (n - 1 if n % 2 else max(0, n - 2)) if n else None,
    "orphans": lambda n, size: size + n,
    "ring": lambda n, size: (n - 1) % size,
    "pairs": lambda n, _: n ^ 1,
}
# From when to when: (number, size) -> ms after noon.
TIMES: Mapping[str, Callable[[int, int], tuple[int, int]]] = {
    "nested": lambda n, size: (n, n + 5 * (size - n)),
    "at once": lambda n, size: (0, 1_000),
    "in line": lambda n, size: (2 * n, 2 * n + 1),
}


def hostile(shape: str, kinds: Sequence[str], times: str, size: int) -> list[Span]:
    made = []
    for number in range(size):
        above = SHAPES[shape](number, size)
        start, end = TIMES[times](number, size)
        made.append(
            Span(
                trace_id=TRACE,
                span_id=f"{number:016x}",
                parent_span_id=None if above is None else f"{above:016x}",
                name="x",
                kind=3,
                start_unix_ns=NOON + start * MS,
                end_unix_ns=NOON + end * MS,
                attributes=KINDS[kinds[number % len(kinds)]],
                scope_name=str(number % 2),
            )
        )
    return made

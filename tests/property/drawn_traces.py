"""Random traces for properties: plausible ones, and hostile ones whose spans point anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from ingest.spans import Event, Span

NOON = 1_780_000_000_000_000_000
TRACE = "0af7651916cd43dd8448eb211c80319c"
MS = 1_000_000
KINDS = ("agent", "call", "tool", "chain", "workflow", "plain", "http", "engine", "server", "stage")
ANSWERS = ("", "r-1", "r-2")


def attributes_of(kind: str, tool: str, asks: str, tokens: int, answer: str) -> dict[str, Any]:
    parts = f'[{{"role":"assistant","parts":[{{"type":"tool_call","name":"{asks}","id":"id-{asks}"}}]}}]'
    return {
        "agent": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": tool},
        "call": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m-1",
            "gen_ai.output.messages": parts if asks != "none" else "[]",
            **({"gen_ai.usage.output_tokens": tokens} if tokens % 4 else {}),  # some tell of no end
            **({"gen_ai.response.id": answer} if answer else {}),
        },
        "tool": {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool,
            "gen_ai.tool.call.id": f"id-{tool}",
        },
        "chain": {"openinference.span.kind": "CHAIN"},
        "workflow": {"traceloop.span.kind": "workflow"},
        "plain": {},
        "http": {"http.request.method": "POST"},
        "engine": {
            "gen_ai.latency.time_to_first_token": tokens / 1000,
            "gen_ai.latency.e2e": tokens / 500,
            "gen_ai.usage.completion_tokens": tokens,
            **({"gen_ai.request.id": answer} if answer else {}),
        },
        "server": {"mcp.method.name": "tools/call", "gen_ai.tool.name": tool},
        "stage": {"sixstage.stage": "tool_parsing"},
    }[kind]


@st.composite
def spans(draw: st.DrawFn, number: int, parents: int, longest_ms: int = 2_000, kinds: Sequence[str] = KINDS) -> Span:
    """Span ``number``; its parent is one of the first ``parents`` spans, one that never comes, or none."""
    kind = draw(st.sampled_from(kinds))
    start = draw(st.integers(0, longest_ms))
    length = draw(st.integers(0, longest_ms))
    parent = draw(st.integers(-2, parents - 1))
    first = draw(st.one_of(st.none(), st.integers(0, longest_ms * 2)))
    tool = draw(st.sampled_from(["search", "weather", "helper"]))
    asks = draw(st.sampled_from(["search", "helper", "none"]))
    begin = NOON + start * MS
    return Span(
        trace_id=TRACE,
        span_id=f"{number:016x}",
        parent_span_id=None if parent == -1 else "lost" if parent == -2 else f"{parent:016x}",
        name=draw(st.sampled_from(["search", "step", "chat"])),
        kind=draw(st.integers(1, 3)),
        start_unix_ns=begin,
        end_unix_ns=begin + length * MS,
        status=draw(st.sampled_from([0, 0, 0, 2])),
        attributes=attributes_of(kind, tool, asks, draw(st.integers(0, 900)), draw(st.sampled_from(ANSWERS))),
        events=() if first is None else (Event(name="gen_ai.first_token", unix_ns=begin + first * MS),),
        resource={"service.name": draw(st.sampled_from(["a", "b"]))},
        scope_name=draw(st.sampled_from(["one", "two"])),
        flags=draw(st.sampled_from([0, 0x100, 0x300])),
    )


@st.composite
def traces(draw: st.DrawFn, hostile: bool = False) -> list[Span]:
    """A trace of up to 14 spans. Parents come before their children, or, if hostile, anywhere: cycles too."""
    size = draw(st.integers(1, 14))
    return [draw(spans(number, size if hostile else number)) for number in range(size)]


def engine_spans() -> st.SearchStrategy[list[Span]]:
    """Engines' spans from traces of their own, up to two of one response."""
    drawn = st.lists(st.integers(100, 104), max_size=5, unique=True).flatmap(
        lambda numbers: st.tuples(*(spans(number=number, parents=0, kinds=("engine",)) for number in numbers))
    )
    return drawn.map(lambda found: [replace(span, trace_id=f"{int(span.span_id, 16):032x}") for span in found])


def with_absurd_times(trace: list[Span], times: list[int]) -> list[Span]:
    """The trace with its first spans' times replaced."""
    pairs = list(zip(times[::2], times[1::2], strict=False))
    changed = [
        replace(span, start_unix_ns=start, end_unix_ns=end) for span, (start, end) in zip(trace, pairs, strict=False)
    ]
    return [*changed, *trace[len(changed) :]]

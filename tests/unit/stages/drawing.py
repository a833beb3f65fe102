"""Spans drawn as text, and breakdowns read back in milliseconds.

    run        0 100  agent
      chat    10  60  call   first=30 asks=search
      search  60  90  tool

One line is one span: name, start, end (ms after noon), kind, options. Indentation is parentage; a line's name
is its span id, unless ``id=`` says otherwise.
"""

from __future__ import annotations

import json
from typing import Any

from ingest.spans import (
    KIND_CLIENT,
    KIND_INTERNAL,
    KIND_SERVER,
    STATUS_ERROR,
    STATUS_UNSET,
    Event,
    Span,
)
from ingest.stages import Decomposition, Run, decompose

NOON = 1_780_000_000_000_000_000
MS = 1_000_000
TRACE = "0af7651916cd43dd8448eb211c80319c"
SERVICE = {"service.name": "support", "service.version": "1.4.0", "deployment.environment.name": "test"}


def at(ms: float) -> int:
    return NOON + round(ms * MS)


def draw(text: str) -> list[Span]:
    """The spans of a drawing, in the order of its lines."""
    spans: list[Span] = []
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        while above and above[-1][0] >= indent:
            above.pop()
        name, start, end, kind, *options = line.split()
        told = dict(option.split("=", 1) if "=" in option else (option, "yes") for option in options)
        span = _span(name, float(start), float(end), kind, told, above[-1][1] if above else None)
        above.append((indent, span.span_id))
        spans.append(span)
    return spans


def _span(name: str, start: float, end: float, kind: str, told: dict[str, str], parent: str | None) -> Span:
    return Span(
        trace_id=told.get("trace", TRACE),
        span_id=told.get("id", name),
        parent_span_id=told.get("parent", parent),
        name=name,
        kind={"http": KIND_CLIENT, "client": KIND_CLIENT, "engine": KIND_SERVER, "server": KIND_SERVER}.get(
            kind, KIND_INTERNAL
        ),
        start_unix_ns=at(start),
        end_unix_ns=at(end),
        status=STATUS_ERROR if "error" in told else STATUS_UNSET,
        status_message=told.get("error", ""),
        attributes=_attributes(name, kind, told),
        events=tuple(
            Event(name="gen_ai.first_token", unix_ns=at(float(told[key]))) for key in ("first",) if key in told
        ),
        resource={**SERVICE, "service.name": told.get("service", "support")},
        scope_name=told.get("scope", "demo"),
        flags=int(told.get("flags", "0")),
    )


def _attributes(name: str, kind: str, told: dict[str, str]) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "agent": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        "call": {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"},
        "nameless": {"gen_ai.operation.name": "chat"},
        "tool": {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": told.get("tool", name)},
        "workflow": {"traceloop.span.kind": "workflow", "traceloop.entity.name": name},
        "chain": {"openinference.span.kind": "CHAIN"},
        "http": {"http.request.method": "POST", "http.response.status_code": 200},
        "server": {"mcp.method.name": "tools/call", "gen_ai.tool.name": told.get("tool", name)},
        "client": {"mcp.method.name": "tools/call", "gen_ai.tool.name": told.get("tool", name)},
        "engine": {},
        "plain": {},
        "stage": {"sixstage.stage": told.get("stage")},
    }[kind]
    for key, attribute in (
        ("session", "gen_ai.conversation.id"),
        ("answer", "gen_ai.response.id"),
        ("callid", "gen_ai.tool.call.id"),
        ("finish", "gen_ai.response.finish_reasons"),
        ("model", "gen_ai.response.model"),
        ("cache", "sixstage.cache.result"),
    ):
        if key in told:
            attributes[attribute] = told[key]
    for key, attribute in (
        ("in", "gen_ai.usage.input_tokens"),
        ("out", "gen_ai.usage.output_tokens"),
        ("cached", "gen_ai.usage.cache_read.input_tokens"),
    ):
        if key in told:
            attributes[attribute] = int(told[key])
    for key in ("ttft", "e2e", "queue", "prefill", "decode"):
        if key in told:
            attributes[_ENGINE[key]] = float(told[key]) / 1000
    if "asks" in told:
        attributes["gen_ai.output.messages"] = _asking(told["asks"])
    if "prefetch" in told:
        attributes["sixstage.tool.prefetch"] = True
    if "stream" in told:
        attributes["gen_ai.request.stream"] = told["stream"] == "yes"
    return attributes


_ENGINE = {
    "ttft": "gen_ai.latency.time_to_first_token",
    "e2e": "gen_ai.latency.e2e",
    "queue": "gen_ai.latency.time_in_queue",
    "prefill": "gen_ai.latency.time_in_model_prefill",
    "decode": "gen_ai.latency.time_in_model_decode",
}


def _asking(names: str) -> str:
    """An output that asks for tools: `search,weather` or with call ids, `search#c1,weather#c2`."""
    parts = []
    for one in names.split(","):
        name, _, call_id = one.partition("#")
        parts.append({"type": "tool_call", "name": name, "id": call_id or None})
    return json.dumps([{"role": "assistant", "parts": parts}])


def decomposed(text: str) -> Decomposition:
    return decompose(draw(text))


def only_run(text: str) -> Run:
    (run,) = decomposed(text).runs
    return run


def stages(run: Run) -> dict[str, float]:
    """All times of a run that are not 0, in ms."""
    parts = {**run.breakdown.stages_ns, **run.breakdown.outside_ns}
    return {owner.value: length / MS for owner, length in parts.items() if length}


def phases(run: Run) -> str:
    """The run's phases as text: `prefill 0-20, decode 20-50`."""
    return ", ".join(
        f"{phase.owner.value} {(phase.start_unix_ns - run.start_unix_ns) / MS:g}"
        f"-{(phase.end_unix_ns - run.start_unix_ns) / MS:g}"
        for phase in run.phases
    )


def codes(run: Run) -> list[str]:
    return [warning.code for warning in run.warnings]

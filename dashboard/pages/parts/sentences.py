"""What cost most, in a sentence. Every sentence carries the figures that it rests on."""

from __future__ import annotations

from collections.abc import Callable

from dashboard.figures import count, duration, percent, plural
from ingest.read.values import CallRow, RunDetail

from .bar import LABELS, amounts
from .rounds import labels


def cost(run: RunDetail) -> tuple[str, list[str]]:
    """The sentence that matters, and those that explain it."""
    parts = amounts(run)
    most = max(parts, key=parts.__getitem__)
    if not run.wall_ns or not parts[most]:
        return (
            "Nothing has been measured yet." if run.provisional else "This run took no time that could be measured."
        ), []
    begin = "So far " if run.provisional and not run.root_ended else ""
    label = LABELS[most].lower() if begin else LABELS[most]
    headline = f"{begin}{label} cost most: {duration(parts[most])}, {percent(parts[most] / run.wall_ns)} of the run."
    return headline, [*_REASONS[most](run), *_second(parts, most, run.wall_ns), *_estimated(run)]


def _model(prefix: str, fact: Callable[[CallRow], int | None], again: bool) -> Callable[[RunDetail], list[str]]:
    def reasons(run: RunDetail) -> list[str]:
        calls = [c for c in run.calls if c.carries_tool_results == again and fact(c)]
        if not calls:
            return []
        longest = max(calls, key=lambda c: fact(c) or 0)
        said = (
            [f"Round {labels(run.calls)[longest.span_id]} took {duration(fact(longest))} of it."]
            if len(calls) > 1
            else []
        )
        return said + (_cached(calls) if prefix == "input" else _pace(calls))

    return reasons


def _cached(calls: list[CallRow]) -> list[str]:
    told = [c for c in calls if c.cached_tokens is not None and c.input_tokens]
    cached, asked = sum(c.cached_tokens or 0 for c in told), sum(c.input_tokens or 0 for c in told)
    if not asked:
        return []
    whose = plural(len(told), "call") if len(told) > 1 else "that call"
    return [f"The cache held {percent(cached / asked)} of the {count(asked)} prompt tokens of {whose}."]


def _pace(calls: list[CallRow]) -> list[str]:
    told = [c for c in calls if c.tpot_ns is not None and c.output_tokens]
    tokens = sum(c.output_tokens or 0 for c in told)
    if tokens <= len(told):
        return []
    ns = sum((c.tpot_ns or 0) * ((c.output_tokens or 1) - 1) for c in told)
    return [f"{count(tokens)} tokens came at {duration(ns // (tokens - len(told)))} each."]


def _tools(run: RunDetail) -> list[str]:
    tools = [tool for tool in run.tools if not tool.pseudo]
    if not tools:
        return []
    longest = max(tools, key=lambda tool: tool.wall_ns)
    failed = sum(tool.ok is False for tool in tools)
    said = (
        [f"The longest was {longest.name} with {duration(longest.wall_ns)}."]
        if len(tools) > 1
        else [f"It was {longest.name}."]
    )
    return said + ([f"{failed} of {plural(len(tools), 'tool call')} failed."] if failed else [])


def _unsplit(run: RunDetail) -> list[str]:
    unsplit = [c for c in run.calls if c.source == "unknown"]
    if not unsplit:
        return []
    which = (
        plural(len(unsplit), "call")
        if len(unsplit) < len(run.calls)
        else "every call"
        if len(unsplit) > 1
        else "its call"
    )
    why = "the provider did not stream" if all(c.streamed is False for c in unsplit) else "no span tells when it came"
    return [f"First token unknown for {which}: {why}."]


def _queue(run: RunDetail) -> list[str]:
    said = []
    own_ns = sum(p.end_ns - p.start_ns for p in run.phases if p.owner == "queue" and p.source == "client")
    if own_ns:
        said.append(f"{duration(own_ns)} of it was on the agent’s side, before a call.")
    if waited := [c for c in run.calls if c.queue_ns]:
        theirs_ns = sum(c.queue_ns or 0 for c in waited)
        said.append(f"{plural(len(waited), 'call')} waited {duration(theirs_ns)} in the engine or gateway.")
    return said


def _parsing(run: RunDetail) -> list[str]:
    return [f"It lay between {plural(run.rounds, 'round')} and {plural(run.tool_count, 'tool call')}."]


def _own_code(run: RunDetail) -> list[str]:
    if not run.calls:
        return ["No model call was seen, so time between tools counts here."]
    return ["That is the agent’s own code and all gaps between calls and tools."]


_REASONS: dict[str, Callable[[RunDetail], list[str]]] = {
    "prefill": _model("input", lambda c: c.prefill_ns, again=False),
    "decode": _model("output", lambda c: c.decode_ns, again=False),
    "re_encoding": _model("input", lambda c: c.prefill_ns, again=True),
    "continue_decode": _model("output", lambda c: c.decode_ns, again=True),
    "tool_parsing": _parsing,
    "tool_execution": _tools,
    "queue": _queue,
    "transport": lambda run: ["That is what the client saw of its calls beyond what the engine says."],
    "model_unsplit": _unsplit,
    "orchestration": _own_code,
}


def _second(parts: dict[str, int], most: str, wall_ns: int) -> list[str]:
    rest = {stage: ns for stage, ns in parts.items() if stage != most}
    second = max(rest, key=rest.__getitem__)
    if rest[second] < wall_ns * 0.1:
        return []
    return [f"{LABELS[second]} cost another {duration(rest[second])}."]


def _estimated(run: RunDetail) -> list[str]:
    ns = sum(by_source.get("estimated", 0) for by_source in run.sources_ns.values())
    return [f"{duration(ns)} of the run is split by estimate."] if ns else []

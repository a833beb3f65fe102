"""What the agent and its tools had to do with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dashboard.figures import count, duration, percent, plural
from dashboard.pages.parts.safetext import visible
from dashboard.verdicts.facts import Facts, union_ns
from dashboard.verdicts.finding import Finding
from ingest.read.values import CallRow, ToolRow


def serial_tools(facts: Facts) -> Iterator[Finding]:
    """Tools that one call asked for, and that ran one after another: it had asked without seeing what the others
    return. Bound: the time that at least one of them ran, less the longest."""
    rounds = [(call, found) for call in facts.run.calls if (found := _in_turns(facts.asked.get(call.span_id, ())))]
    saves = 0
    kept: list[tuple[CallRow, list[ToolRow]]] = []
    for call, tools in rounds:
        spent = union_ns(tools)
        won = min(spent - max(t.wall_ns for t in tools), _waited(facts, tools))
        if won > 0:
            saves += won
            kept.append((call, tools))
    if not facts.matters(saves):
        return
    ran = [tool for _, tools in kept for tool in tools]
    spent = sum(union_ns(tools) for _, tools in kept)
    longest = sum(max(t.wall_ns for t in tools) for _, tools in kept)
    yield Finding(
        code="serial_tools",
        owner="tool_execution",
        spans=tuple(t.span_id for t in ran),
        saves_at_most_ns=saves,
        numbers={"tools": len(ran), "rounds": len(kept), "spent_ns": spent, "longest_ns": longest},
        text=f"{plural(len(ran), 'tool')} that {facts.rounds([c for c, _ in kept])} asked for together ran one after "
        f"another: {duration(spent)}, of which the longest alone took {duration(longest)}.",
        action="Run tools that are asked for together side by side",
    )


def _in_turns(tools: Sequence[ToolRow]) -> list[ToolRow]:
    """Those of a round that overlap with none of the others; a tool that was called again after it had failed waited
    for the failure, so it is not among them."""
    ordered = sorted((t for t in tools if not t.pseudo and not t.abandoned), key=lambda t: t.start_unix_ns)
    failed: set[str] = set()
    alone: list[ToolRow] = []
    for tool in ordered:
        if tool.name in failed:
            continue
        if tool.ok is False:
            failed.add(tool.name)
        if all(o is tool or _apart(o, tool) for o in ordered):
            alone.append(tool)
    return alone if len(alone) > 1 else []


def _apart(one: ToolRow, other: ToolRow) -> bool:
    return (
        one.start_unix_ns + one.wall_ns <= other.start_unix_ns
        or other.start_unix_ns + other.wall_ns <= one.start_unix_ns
    )


def _waited(facts: Facts, tools: Sequence[ToolRow]) -> int:
    """What of the wall was theirs; an agent's time lies in its calls, so its own length counts."""
    return sum(t.wall_ns if t.agent else facts.waited_of(t.span_id, "tool_execution") for t in tools)


def longest_tool(facts: Facts) -> Iterator[Finding]:
    tools = [t for t in facts.run.tools if not t.pseudo and not t.agent]
    if not tools or not facts.matters(facts.amounts["tool_execution"], 0.1):
        return
    longest = max(tools, key=lambda t: facts.waited_of(t.span_id, "tool_execution"))
    ns = facts.waited_of(longest.span_id, "tool_execution")
    if not ns:
        return
    name = visible(longest.name)
    share = ns / facts.amounts["tool_execution"]
    yield Finding(
        code="longest_tool",
        owner="tool_execution",
        spans=(longest.span_id,),
        numbers={"ns": ns, "tools": len(tools), "share": share},
        text=f"It was {name}."
        if len(tools) == 1
        else f"Of {plural(len(tools), 'tool call')} {name} was waited for longest: {duration(ns)}, {percent(share)} "
        "of it.",
    )


def failed_tools(facts: Facts) -> Iterator[Finding]:
    tools = [t for t in facts.run.tools if not t.pseudo]
    failed = [t for t in tools if t.ok is False]
    if not failed:
        return
    ns = facts.waited_ns((t.span_id for t in failed), "tool_execution")
    names = ", ".join(dict.fromkeys(visible(t.name) for t in failed[:3]))
    yield Finding(
        code="failed_tools",
        owner="tool_execution",
        spans=tuple(t.span_id for t in failed),
        numbers={"failed": len(failed), "tools": len(tools), "ns": ns},
        text=f"{count(len(failed))} of {plural(len(tools), 'tool call')} failed ({names}) after {duration(ns)} "
        "of waiting.",
        saves_at_most_ns=ns or None,
        action="Let failing tools fail sooner: a shorter time-out, or a check before the call",
    )


def tool_retries(facts: Facts) -> Iterator[Finding]:
    again = [t for t in facts.run.tools if t.attempts > 1]
    if not again:
        return
    attempts, ns = sum(t.attempts for t in again), facts.waited_ns((t.span_id for t in again), "tool_execution")
    names = ", ".join(dict.fromkeys(visible(t.name) for t in again[:3]))
    yield Finding(
        code="tool_retries",
        owner="tool_execution",
        spans=tuple(t.span_id for t in again),
        numbers={"tools": len(again), "attempts": attempts, "ns": ns},
        text=f"{names} took {attempts} attempts, {duration(ns)} in all.",
    )


def abandoned_tools(facts: Facts) -> Iterator[Finding]:
    left = [t for t in facts.run.tools if t.abandoned]
    ns = facts.waited_ns((t.span_id for t in left), "tool_execution")
    if not left:
        return
    names = ", ".join(dict.fromkeys(visible(t.name) for t in left[:3]))
    yield Finding(
        code="abandoned_tools",
        owner="tool_execution",
        spans=tuple(t.span_id for t in left),
        numbers={"tools": len(left), "ns": ns},
        text=f"The agent waited {duration(ns)} for {names} and went on without the result.",
        saves_at_most_ns=ns or None,
        action="Give up on tools sooner, or start them earlier",
    )


def own_code(facts: Facts) -> Iterator[Finding]:
    ns = facts.amounts["orchestration"]
    if not facts.matters(ns, 0.05):
        return
    if not facts.run.calls:
        yield Finding(
            code="no_model_call",
            owner="orchestration",
            numbers={"ns": ns},
            text="No model call was seen, so time between tools counts here.",
        )
        return
    at, gap_ns = _longest_gap(facts)
    yield Finding(
        code="own_code",
        owner="orchestration",
        saves_at_most_ns=ns,
        action="Look at what the agent does between calls",
        numbers={"ns": ns, "share": facts.share(ns), "longest_ns": gap_ns},
        text=f"The agent’s own code and gaps took {duration(ns)}; the longest, {duration(gap_ns)}, came {at}.",
    )


def _longest_gap(facts: Facts) -> tuple[str, int]:
    """Before what the longest stretch of orchestration lies, and its length; phases that touch count as one."""
    phases = facts.run.phases
    longest, best, length, begun = "at the end", 0, 0, False
    for phase in phases:
        if phase.owner == "orchestration":
            length += phase.end_ns - phase.start_ns
            continue
        if length > best:
            best, longest = length, f"before {_what(facts, phase.span_id)}" if begun else "before the first call"
        begun, length = True, 0
    return ("after everything else", length) if length > best else (longest, best)


def _what(facts: Facts, span_id: str | None) -> str:
    if span_id in facts.labels:
        return f"round {facts.labels[span_id]}"
    return next((visible(t.name) for t in facts.run.tools if t.span_id == span_id), "the next step")


def parsing(facts: Facts) -> Iterator[Finding]:
    ns = facts.amounts["tool_parsing"]
    if facts.matters(ns, 0.05):
        yield Finding(
            code="parsing",
            owner="tool_parsing",
            numbers={"ns": ns, "rounds": facts.run.rounds, "tools": facts.run.tool_count},
            text=f"From the model’s last token to the first tool {duration(ns)} went by, over "
            f"{plural(facts.run.rounds, 'round')} with {plural(facts.run.tool_count, 'tool call')}.",
            saves_at_most_ns=ns,
            action="Parse and check tool calls while they stream",
        )


def transport(facts: Facts) -> Iterator[Finding]:
    ns = facts.amounts["transport"]
    if facts.matters(ns, 0.05):
        yield Finding(
            code="transport",
            owner="transport",
            numbers={"ns": ns, "share": facts.share(ns)},
            saves_at_most_ns=ns,
            text=f"{duration(ns)} is what the client saw of its calls beyond what the engine says.",
            action="Keep connections open, and the engine near",
        )


RULES = (
    serial_tools,
    failed_tools,
    abandoned_tools,
    tool_retries,
    longest_tool,
    own_code,
    parsing,
    transport,
)

"""The waterfall: which spans of a trace belong to a run, in which order, and what each row draws.

Times are nanoseconds from the run's start. A row's blocks are ``[owner, from, to, estimated, beside]``: what the user
waited for is solid, what ran beside the critical path is pale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ingest.read.values import CallRow, PhaseRow, RunDetail, SpanRow, ToolRow, TraceDetail

from .rounds import labels
from .safetext import visible

ERROR = 2
GAPS = ("tool_parsing", "orchestration")
Block = list[Any]


def waterfall(run: RunDetail, trace: TraceDetail | None) -> dict[str, Any]:
    """What ``waterfall.js`` draws."""
    spans = {span.span_id: span for span in (trace.spans if trace else [])}
    children, tops = _tree(run, spans, _foreign_roots(run, trace))
    facts = _Facts(run)
    rows = [
        facts.row(span_id, depth, spans.get(span_id), bool(children.get(span_id)))
        for span_id, depth in _in_order(tops, children)
    ]
    _lay_gaps(rows, run.phases)
    return {
        "run_id": run.run_id,
        "wall_ns": run.wall_ns,
        "start_unix_ns": str(run.start_unix_ns),
        "provisional": run.provisional,
        "rows": rows,
        "phases": [[p.owner, p.start_ns, p.end_ns] for p in run.phases],
    }


def _foreign_roots(run: RunDetail, trace: TraceDetail | None) -> set[str]:
    roots = {run_id.partition("-")[2] for run_id in (trace.runs if trace else [])}
    return roots - {run.root_span_id}


def _tree(run: RunDetail, spans: dict[str, SpanRow], foreign: set[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Children by span, and the spans at the top: the run's root, then calls and tools that lie outside its tree
    (orphans that the decomposition gave to this run) with what is below them."""
    starts = {span_id: span.start_unix_ns for span_id, span in spans.items()}
    starts |= {fact.span_id: fact.start_unix_ns for fact in [*run.calls, *run.tools]}
    children: dict[str, list[str]] = defaultdict(list)
    for span_id, span in spans.items():
        if span.parent_span_id and span_id != run.root_span_id and span_id not in foreign:
            children[span.parent_span_id].append(span_id)
    for below in children.values():
        below.sort(key=lambda span_id: (starts.get(span_id, 0), span_id))
    tops = [run.root_span_id]
    reached = {span_id for span_id, _ in _in_order(tops, children)}
    for fact in sorted([*run.calls, *run.tools], key=lambda fact: fact.start_unix_ns):
        if fact.span_id not in reached:
            # An adopted span stands below the root, where its stages count.
            children[run.root_span_id].append(fact.span_id)
            reached |= {span_id for span_id, _ in _in_order([fact.span_id], children)}
    return children, tops


def _in_order(tops: Iterable[str], children: dict[str, list[str]]) -> Iterable[tuple[str, int]]:
    """Parents before children, with the depth; without recursion, and each span once, whatever cycles were sent."""
    seen: set[str] = set()
    stack = [(span_id, 0) for span_id in reversed(list(tops))]
    while stack:
        span_id, depth = stack.pop()
        if span_id in seen:
            continue
        seen.add(span_id)
        yield span_id, depth
        stack += [(child, depth + 1) for child in reversed(children.get(span_id, []))]


class _Facts:
    """What the decomposition knows of the run's spans."""

    def __init__(self, run: RunDetail) -> None:
        self.run = run
        self.calls = {call.span_id: call for call in run.calls}
        self.tools = {tool.span_id: tool for tool in run.tools}
        self.rounds = labels(run.calls)
        self.phases: dict[str, list[PhaseRow]] = defaultdict(list)
        for phase in run.phases:
            if phase.span_id and phase.owner not in GAPS:
                self.phases[phase.span_id].append(phase)

    def row(self, span_id: str, depth: int, span: SpanRow | None, parent: bool) -> dict[str, Any]:
        call, tool = self.calls.get(span_id), self.tools.get(span_id)
        start, end = self._extent(call or tool, span)
        waited = self.phases.get(span_id, [])
        row = {
            "id": span_id,
            "depth": depth,
            "from": start,
            "to": end,
            "kind": self._kind(span_id, call, tool),
            "name": visible(
                (call.model if call else None)
                or (tool.name if tool else None)
                or (span.name if span else "")
                or "unnamed span"
            ),
            "span_name": visible(span.name) if span else "",
            "blocks": self._blocks(call, tool, waited),
            "critical": bool(waited),
            "parent": parent,
        }
        if call:
            row["round"] = self.rounds[span_id]
            if call.first_token_unix_ns is not None:
                row["first"] = call.first_token_unix_ns - self.run.start_unix_ns
        if (tool and tool.ok is False) or (call and call.error) or (span and span.status == ERROR):
            row["failed"] = True
        if note := self._note(call, tool):
            row["note"] = note
        return row

    def _extent(self, fact: CallRow | ToolRow | None, span: SpanRow | None) -> tuple[int, int]:
        origin = self.run.start_unix_ns
        if fact:
            return fact.start_unix_ns - origin, fact.start_unix_ns + fact.wall_ns - origin
        if span is None:
            return 0, self.run.wall_ns
        return span.start_unix_ns - origin, max(span.start_unix_ns, span.end_unix_ns) - origin

    def _kind(self, span_id: str, call: CallRow | None, tool: ToolRow | None) -> str:
        if call:
            return "call"
        if tool:
            return "agent" if tool.agent else "tool"
        return "agent" if span_id == self.run.root_span_id else "span"

    def _blocks(self, call: CallRow | None, tool: ToolRow | None, waited: list[PhaseRow]) -> list[Block]:
        blocks: list[Block] = []
        origin = self.run.start_unix_ns
        covered = sum(p.end_ns - p.start_ns for p in waited)
        if call and covered < call.wall_ns:
            blocks += call_blocks(call, origin)
        elif tool and not tool.agent and covered < tool.wall_ns:
            blocks.append(
                [
                    "tool_execution",
                    tool.start_unix_ns - origin,
                    tool.start_unix_ns + tool.wall_ns - origin,
                    False,
                    True,
                ]
            )
        return blocks + [[p.owner, p.start_ns, p.end_ns, p.source == "estimated", False] for p in waited]

    @staticmethod
    def _note(call: CallRow | None, tool: ToolRow | None) -> str:
        words = []
        if (attempts := (call or tool).attempts if call or tool else 1) > 1:  # type: ignore[union-attr]
            words.append(f"{attempts} attempts")
        if tool and tool.abandoned:
            words.append("abandoned")
        elif tool and tool.ok is False:
            words.append("failed")
        return ", ".join(words)


def call_parts(call: CallRow) -> list[tuple[str, int]]:
    """A call's own time in the order in which it passes, whoever waited for it; what its figures do not tell is
    unsplit."""
    again = call.carries_tool_results
    known = [
        ("transport", call.transport_ns),
        ("queue", call.queue_ns),
        ("re_encoding" if again else "prefill", call.prefill_ns),
        ("continue_decode" if again else "decode", call.decode_ns),
    ]
    parts = [(owner, ns) for owner, ns in known if ns]
    rest = call.wall_ns - sum(ns for _, ns in parts)
    return [*parts, ("model_unsplit", rest)] if rest > 0 else parts


def call_blocks(call: CallRow, origin_ns: int) -> list[Block]:
    blocks: list[Block] = []
    at, end = call.start_unix_ns - origin_ns, call.start_unix_ns + call.wall_ns - origin_ns
    for owner, ns in call_parts(call):
        blocks.append([owner, at, min(at + ns, end), call.source == "estimated" and owner != "model_unsplit", True])
        at = min(at + ns, end)
    return blocks


def _lay_gaps(rows: list[dict[str, Any]], phases: list[PhaseRow]) -> None:
    """A gap is drawn before the row that ended it; the last one, which nothing ended, on the run's own row."""
    by_span = {row["id"]: row for row in rows}
    waiting: list[PhaseRow] = []
    for phase in phases:
        if phase.owner in GAPS:
            waiting.append(phase)
        else:
            _draw_gaps(by_span.get(phase.span_id or "") or rows[0], waiting)
            waiting = []
    _draw_gaps(rows[0], waiting)


def _draw_gaps(row: dict[str, Any], gaps: list[PhaseRow]) -> None:
    if gaps:
        row.setdefault("gaps", []).extend([gap.owner, gap.start_ns, gap.end_ns] for gap in gaps)

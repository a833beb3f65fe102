"""The rounds of a run: a model call and the tools it asked for, with the part of the wall that was theirs.

Every phase of the run goes to exactly one row, so the rows add up to the wall time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Generic, TypeVar

from dashboard.figures import Figure, costs_together, exact_together, share_of
from ingest.read.values import CallPlace, CallRow, RunDetail, ToolRow

from .bar import ORDER, Segment, segments_of

Placed = TypeVar("Placed", CallRow, CallPlace)
Asked = dict[str, list[ToolRow]]
PARTS = (
    ("reading", ("prefill", "re_encoding")), ("writing", ("decode", "continue_decode")),
    ("parsing", ("tool_parsing",)), ("tools", ("tool_execution",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One row. ``call`` is None for what lay before the first call."""

    label: str
    nested: bool
    asked: str
    tools: list[ToolRow]
    call: CallRow | None
    wall_ns: int
    time: Figure
    segments: list[Segment]
    cost: Figure

    @property
    def cached_share(self) -> float | None:
        return share_of(self.call.cached_tokens, self.call.input_tokens) if self.call else None

    @property
    def parts(self) -> list[tuple[str, int | None]]:
        """What of the wall was its reading, writing, parsing and tools; None where it has none."""
        ns = {s.stage: s.ns for s in self.segments}
        return [(name, sum(ns.get(stage, 0) for stage in stages) or None) for name, stages in PARTS]

    @property
    def retries(self) -> int:
        return sum(tool.attempts - 1 for tool in self.tools if tool.attempts > 1)


def labels(calls: Iterable[CallRow | CallPlace]) -> dict[str, str]:
    """By call: 1, 2, 3 for the run's own, 2.1, 2.2 for those of agents that round 2 set to work."""
    found: dict[str, str] = {}
    own, inner = 0, 0
    for call in calls:
        if call.scope == 0:
            own, inner = call.round, 0
            found[call.span_id] = str(own)
        else:
            inner += 1
            found[call.span_id] = f"{own}.{inner}"
    return found


def tools_of(run: RunDetail) -> Asked:
    """By call: the tools it asked for. Of several calls with one round number (agents side by side) the latest
    that had started."""
    asked: Asked = defaultdict(list)
    asking: Asking[CallRow] = Asking(run.calls)
    of_round, nobody = asking.of_round, ()
    for tool in run.tools:
        calls = of_round.get((tool.scope, tool.round), nobody)
        if len(calls) == 1 and calls[0].start_unix_ns <= tool.start_unix_ns:  # nearly always
            asked[calls[0].span_id].append(tool)
        elif (call := asking.call(tool)) is not None:
            asked[call.span_id].append(tool)
    return asked


class Asking(Generic[Placed]):
    """Which call asked for a tool. Calls come in the order of their start."""

    def __init__(self, calls: Iterable[Placed]) -> None:
        self.of_scope: dict[int, list[Placed]] = defaultdict(list)
        self.of_round: dict[tuple[int, int], list[Placed]] = defaultdict(list)
        for call in calls:
            self.of_scope[call.scope].append(call)
            self.of_round[call.scope, call.round].append(call)

    def call(self, tool: ToolRow) -> Placed | None:
        """The latest of its round that had started before it, else the latest of its agent."""
        for calls in (self.of_round.get((tool.scope, tool.round), []), self.of_scope.get(tool.scope, [])):
            if at := bisect_right(calls, tool.start_unix_ns, key=_start_of):
                return calls[at - 1]
        return None


def _start_of(call: CallRow | CallPlace) -> int:
    return call.start_unix_ns


def rounds(run: RunDetail, tools: Asked, most: int | None = None) -> list[Round]:
    """The rows of the table, in the order of time, by what ``tools_of`` found; none where the run has no model call.
    All of them are rounded together, whether ``most`` of them are asked for or all."""
    if not run.calls:
        return []
    named = labels(run.calls)
    amounts = _amounts_by_call(run, tools)
    keys: list[CallRow | None] = [*([None] if None in amounts else []), *run.calls]
    walls = [sum(ns for _, _, ns in amounts.get(c.span_id if c else None, ())) for c in keys]
    times = exact_together(walls, run.wall_ns)
    costs = costs_together([c.cost if c else None for c in keys], run.cost)[:-1]
    answer = next((c.span_id for c in reversed(run.calls) if c.scope == 0), None)
    rows = zip(keys, walls, times, costs, strict=True)
    if keys[0] is None and not times[0].value.strip("0."):
        next(rows)  # too short to be seen before the first call: a row of zeros would say nothing
    return [
        Round(
            label=named[call.span_id] if call else "",
            nested=bool(call and call.scope),
            call=call,
            wall_ns=wall,
            time=time,
            asked=_asked(call, tools, answer, run) if call else "before the first call",
            tools=tools.get(call.span_id, []) if call else [],
            segments=_segments(amounts.get(call.span_id if call else None, ())),
            cost=cost,
        )
        for call, wall, time, cost in islice(rows, most)
    ]


def sums(run: RunDetail) -> list[tuple[str, int | None]]:
    """The whole run's reading, writing, parsing and tools: what those of all rounds add up to."""
    return [(name, sum(run.stages_ns[stage] for stage in stages) or None) for name, stages in PARTS]


Amount = tuple[str, str, int]  # owner, source, nanoseconds
_NEVER = inf, None


def _amounts_by_call(run: RunDetail, tools: Asked) -> dict[str | None, list[Amount]]:
    """A phase belongs to the call that it is of, to the call that asked for its tool, or else (gaps, an agent's own
    code) to the call that had started last."""
    owner: dict[str | None, str] = {call.span_id: call.span_id for call in run.calls}
    for call_id, asked in tools.items():
        for tool in asked:
            if not tool.agent:
                owner[tool.span_id] = call_id
    starts = iter([(call.start_unix_ns - run.start_unix_ns, call.span_id) for call in run.calls])
    found: dict[str | None, list[Amount]] = defaultdict(list)
    latest = None
    next_ns, following = next(starts, _NEVER)
    for phase in run.phases:
        start_ns = phase.start_ns
        while next_ns <= start_ns:
            latest = following
            next_ns, following = next(starts, _NEVER)
        found[owner.get(phase.span_id, latest)].append((phase.owner, phase.source, phase.end_ns - start_ns))
    return found


def _segments(told: Iterable[Amount]) -> list[Segment]:
    amounts: Counter[str] = Counter()
    sources: dict[str, Counter[str]] = defaultdict(Counter)
    for owner, source, ns in told:
        amounts[owner] += ns
        sources[owner][source] += ns
    return segments_of(
        ((stage, amounts[stage]) for stage in ORDER),
        {k: max(v, key=v.__getitem__) for k, v in sources.items()},
        sources,
    )


def _asked(call: CallRow, tools: Asked, answer: str | None, run: RunDetail) -> str:
    names = Counter(f"{tool.name} (agent)" if tool.agent else tool.name for tool in tools.get(call.span_id, []))
    if names:
        return ", ".join(f"{name} × {n}" if n > 1 else name for name, n in names.items())
    if call.error:
        return "failed"
    if "tool" in (call.finish_reason or "") or "function" in (call.finish_reason or ""):
        return "tools, of which no span came"
    if call.span_id == answer:
        return "the answer" if run.root_ended else "nothing yet"
    return "no tool"

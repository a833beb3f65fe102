"""What the rules ask of a run again and again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from dashboard.pages.parts.rounds import Asked, labels
from ingest.read.values import CallRow, RunDetail, ToolRow

MODEL_INPUT = ("prefill", "re_encoding")


class Facts:
    """A run, and what of its wall time was waited for in each span."""

    def __init__(self, run: RunDetail, asked: Asked) -> None:
        self.run, self.asked = run, asked
        self.amounts = run.stages_ns | run.outside_ns
        self.labels = labels(run.calls)
        self.waited: defaultdict[tuple[str | None, str], int] = defaultdict(int)
        for phase in run.phases:
            self.waited[phase.span_id, phase.owner] += phase.end_ns - phase.start_ns

    def waited_of(self, span_id: str, owner: str) -> int:
        return self.waited.get((span_id, owner), 0)

    def waited_ns(self, spans: Iterable[str], *owners: str) -> int:
        return sum([self.waited.get((span, owner), 0) for span in spans for owner in owners])

    def matters(self, ns: int, share: float = 0.02) -> bool:
        """Whether an amount is worth a sentence beside the whole run."""
        return ns > 0 and ns >= self.run.wall_ns * share

    def share(self, ns: int) -> float:
        return ns / self.run.wall_ns if self.run.wall_ns else 0.0

    def pairs(self) -> Iterator[tuple[CallRow, CallRow]]:
        """Each call with the one before it of the same agent and model."""
        by_scope: dict[tuple[int, str | None], list[CallRow]] = defaultdict(list)
        for call in self.run.calls:
            by_scope[call.scope, call.model].append(call)
        for calls in by_scope.values():
            yield from pairwise(calls)

    def rounds(self, calls: Iterable[CallRow]) -> str:
        """``round 3``, ``rounds 2, 3 and 5``, ``14 rounds``."""
        named = [self.labels[call.span_id] for call in calls]
        if len(named) == 1:
            return f"round {named[0]}"
        if len(named) > 4:
            return f"{len(named)} rounds"
        return f"rounds {', '.join(named[:-1])} and {named[-1]}"

    def is_guess(self, owner: str) -> bool:
        """Whether most of a stage's time is an estimate."""
        by_source = self.run.sources_ns.get(owner, {})
        return by_source.get("estimated", 0) * 2 > sum(by_source.values())


def union_ns(tools: Sequence[ToolRow]) -> int:
    """The time that at least one of them covers."""
    covered, until = 0, 0
    for tool in sorted(tools, key=lambda t: t.start_unix_ns):
        end = tool.start_unix_ns + tool.wall_ns
        covered += max(0, end - max(until, tool.start_unix_ns))
        until = max(until, end)
    return covered

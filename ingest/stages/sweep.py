"""The sweep: every elementary interval of a run goes to exactly one owner. Exact by construction.

Claims are walked once in order of time. In each scope the claim that started last owns the instant; where
that claim has a scope within, the question is asked there again. Among tools and branches side by side the
last to finish owns: that is the one its user waited for.

run      |--------------------------------------|
decode       |=============|
tool              |-----------------|              started last: owns from its start on
sub-agent                 |....|                    its calls own their instants, the rest stays tool
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from operator import itemgetter

from ingest.stages.claims import RANK, Claim
from ingest.stages.drafts import Scope
from ingest.stages.model import BY_CLIENT, DERIVED, Owner, Phase, Source
from ingest.stages.order import sort_by_start

_START = itemgetter(0)  # a claim's
_Owned = tuple[Owner, str | None, Source]
_Entry = tuple[int, int, int, int]  # (what the heap sorts by, a tie-break, the claim's number, its end)


class _Open:
    """The claims open in one scope. Heaps with lazy deletion: an ended claim leaves when it is on top."""

    __slots__ = ("branches", "by_end", "plain")

    def __init__(self) -> None:
        self.plain: list[_Entry] = []  # by start, the latest first
        self.branches: list[_Entry] = []  # by start, the latest first
        self.by_end: list[_Entry] = []  # branches by end, the last first

    def add(self, claim: Claim, number: int) -> None:
        entry = (-claim.start, RANK[claim.owner], number, claim.end)
        if claim.branch:
            heappush(self.branches, entry)
            heappush(self.by_end, (-claim.end, -claim.start, number, claim.end))
        else:
            heappush(self.plain, entry)

    def winner(self, claims: list[Claim], at: int) -> Claim | None:
        plain, branches = self.plain, self.branches
        while plain and plain[0][3] <= at:
            heappop(plain)
        while branches and branches[0][3] <= at:
            heappop(branches)
        if branches and (not plain or branches[0][:2] <= plain[0][:2]):
            by_end = self.by_end
            while by_end[0][3] <= at:
                heappop(by_end)
            return claims[by_end[0][2]]
        return claims[plain[0][2]] if plain else None


def sweep(claims: list[Claim], scopes: list[Scope], start: int, end: int) -> list[Phase]:
    """Phases that tile [start, end) without a gap, neighbours of one owner joined; none where it is empty."""
    if end <= start:
        return []
    clipped = [
        claim if claim.start >= start and claim.end <= end else _clip(claim, start, end)
        for claim in claims
        if claim.start < end and claim.end > start and claim.start < claim.end
    ]
    sort_by_start(clipped, _START, _order)
    line = len(scopes) == 1 and _is_line(clipped, start)
    changes = _in_line(clipped, scopes[0], start, end) if line else _contested(clipped, scopes, start, end)
    phases: list[Phase] = []
    owned: _Owned | None = None
    since = start
    for at, now in changes:
        if now != owned:
            if owned is not None:
                owner, span_id, source = owned
                phases.append(Phase(start_unix_ns=since, end_unix_ns=at, owner=owner, span_id=span_id, source=source))
            owned, since = now, at
    if owned is not None:
        owner, span_id, source = owned
        phases.append(Phase(start_unix_ns=since, end_unix_ns=end, owner=owner, span_id=span_id, source=source))
    return phases


def _is_line(claims: list[Claim], at: int) -> bool:
    """Whether no two claims, in order of start and none before ``at``, overlap."""
    for claim in claims:
        if claim.start < at:
            return False
        at = claim.end
    return True


def _in_line(claims: list[Claim], scope: Scope, start: int, end: int) -> Iterator[tuple[int, _Owned]]:
    """Who owns from when on, where no two claims overlap: most runs, at a third of the cost."""
    at, background = start, _background(scope)
    for begin, until, owner, span_id, source, *_ in claims:
        if begin > at:
            yield at, background
        yield begin, (owner, span_id, source)
        at = until
    if at < end:
        yield at, background


def _contested(claims: list[Claim], scopes: list[Scope], start: int, end: int) -> Iterator[tuple[int, _Owned]]:
    """Who owns from when on: asked again wherever a claim starts or ends."""
    opened = [_Open() for _ in scopes]
    # Two runs that are in order or nearly: sorting merges them.
    bounds = [start, *[claim.start for claim in claims], *sorted([claim.end for claim in claims])]
    bounds.sort()
    upcoming, before = 0, -1
    starts = [*[claim.start for claim in claims], end]
    for at in bounds:
        if at in (before, end):
            continue
        before = at
        while starts[upcoming] == at:
            claim = claims[upcoming]
            opened[claim.scope].add(claim, upcoming)
            upcoming += 1
        yield at, _owner(opened, claims, scopes, at)


def _background(scope: Scope) -> _Owned:
    source = BY_CLIENT if scope.background_span_id is not None else DERIVED
    return scope.background, scope.background_span_id, source


def _clip(claim: Claim, start: int, end: int) -> Claim:
    return claim._replace(start=max(claim.start, start), end=min(claim.end, end))


def _order(claim: Claim) -> tuple[int, int, int, str]:
    return (claim.start, RANK[claim.owner], -claim.end, claim.span_id or "")


def _owner(opened: list[_Open], claims: list[Claim], scopes: list[Scope], at: int) -> _Owned:
    """Ask the run's scope, then scopes within, until a claim without a scope of its own or nobody answers."""
    index = 0
    while True:
        claim = opened[index].winner(claims, at)
        if claim is None:
            return _background(scopes[index])
        if claim.inner is None:
            return claim.owner, claim.span_id, claim.source
        index = claim.inner

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
from operator import itemgetter

from ingest.stages.claims import RANK, Claim
from ingest.stages.drafts import Scope
from ingest.stages.model import BY_CLIENT, DERIVED, Owner, Phase, Source
from ingest.stages.order import sort_by_start

_START = itemgetter(0)  # a claim's
_Owned = tuple[Owner, str | None, Source]


class _Open:
    """The claims open in one scope. They come in order of start, so the one that started last is the top of a stack;
    an ended claim leaves when it is on top."""

    __slots__ = ("branches", "last_branch", "plain")

    def __init__(self) -> None:
        self.plain: list[Claim] = []
        self.branches: list[Claim] = []
        self.last_branch: Claim | None = None  # of the open ones, the one that ends last: once it has, all have

    def add(self, claim: Claim) -> None:
        """Of claims that start at once, the one that comes first in ``_order`` is added last."""
        if not claim.branch:
            self.plain.append(claim)
            return
        self.branches.append(claim)
        last = self.last_branch
        if last is None or claim.end >= last.end:
            self.last_branch = claim

    def winner(self, at: int) -> Claim | None:
        plain, branches = self.plain, self.branches
        while plain and plain[-1].end <= at:
            plain.pop()
        while branches and branches[-1].end <= at:
            branches.pop()
        if branches and not (plain and _before(plain[-1], branches[-1])):
            return self.last_branch
        return plain[-1] if plain else None


def _before(claim: Claim, branch: Claim) -> bool:
    """Whether ``claim`` started after ``branch``, or at once with it and ranks before it."""
    return claim.start > branch.start or (claim.start == branch.start and RANK[claim.owner] < RANK[branch.owner])


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
        if starts[upcoming] == at:
            first = upcoming
            while starts[upcoming] == at:
                upcoming += 1
            for claim in reversed(claims[first:upcoming]):
                opened[claim.scope].add(claim)
        yield at, _owner(opened, scopes, at)


def _background(scope: Scope) -> _Owned:
    source = BY_CLIENT if scope.background_span_id is not None else DERIVED
    return scope.background, scope.background_span_id, source


def _clip(claim: Claim, start: int, end: int) -> Claim:
    return claim._replace(start=max(claim.start, start), end=min(claim.end, end))


def _order(claim: Claim) -> tuple[int, int, int, str]:
    return (claim.start, RANK[claim.owner], -claim.end, claim.span_id or "")


def _owner(opened: list[_Open], scopes: list[Scope], at: int) -> _Owned:
    """Ask the run's scope, then scopes within, until a claim without a scope of its own or nobody answers."""
    index = 0
    while True:
        claim = opened[index].winner(at)
        if claim is None:
            return _background(scopes[index])
        if claim.inner is None:
            return claim.owner, claim.span_id, claim.source
        index = claim.inner

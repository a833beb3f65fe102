"""Runs by attributes that no column keeps: their spans are read, of the newest runs first, while there is time.

The other conditions of a query narrow what is read. A chunk in whose bytes the attribute's name does not occur, or no
value that is wanted, is not decoded.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ingest.chunks import spans_in, spans_of
from ingest.compression import decompress
from ingest.models.telemetry import Signal
from ingest.read.budget import Budget
from ingest.read.query.attributes import has, needles, texts_of
from ingest.read.query.terms import Term
from ingest.read.rows import select
from ingest.read.windows import windows
from ingest.scope import Scope
from ingest.snapshot import snapshot
from ingest.spans import Span
from ingest.stored import Place, read_bodies

if TYPE_CHECKING:
    from ingest.read.runs import RunFilter

FIRST_BATCH, BATCH_MOST = 50, 400
FOUND_MOST = 20_000
OFFERED_CHARACTERS = 80
LAST_NS = 2**63 - 1
KEPT_S, KEPT_MOST = 5.0, 16  # list, facets and figures of one page ask the same

Conditions = Callable[["RunFilter"], tuple[str, list[Any]]]  # the WHERE of a filter


@dataclass(frozen=True, slots=True)
class Found:
    """Trace and root span of each run that fits. ``looked_from_ns`` is set where the time was up, or enough was found,
    before all were looked at: from then on all were."""

    runs: frozenset[tuple[bytes, bytes]]
    looked_from_ns: int | None


_kept: OrderedDict[Any, tuple[float, Found]] = OrderedDict()
_guard = threading.Lock()


def find_among(
    scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float, conditions: Conditions
) -> tuple[RunFilter, int | None]:
    """The filter with its terms on attributes answered, if it has any, and from when on all runs were looked at for
    that; None: all were."""
    if wanted.among is not None or not wanted.query.of_attributes:
        return wanted, None
    question = scope, replace(wanted, sort="newest", cursor=None, limit=1)
    with _guard:
        kept = _kept.get(question)
    if kept is None or time.monotonic() - kept[0] > KEPT_S:
        kept = time.monotonic(), find(scope, wanted, now_ns, budget_s, conditions)
        with _guard:
            _kept[question] = kept
            _kept.move_to_end(question)
            while len(_kept) > KEPT_MOST:
                _kept.popitem(last=False)
    return replace(wanted, among=kept[1].runs), kept[1].looked_from_ns


def find(
    scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float, conditions: Conditions, enough: int | None = None
) -> Found:
    """Looks at the newest runs first until the time is up or ``enough`` were found. Raises BadFilter."""
    terms, budget = wanted.query.of_attributes, Budget(budget_s)
    others = replace(wanted, q=str(wanted.query.without(*terms)), sort="newest", cursor=None)
    most = FOUND_MOST if enough is None else min(enough, FOUND_MOST)
    found: set[tuple[bytes, bytes]] = set()
    looked_from_ns: int | None = None
    for batch in _candidates(scope, others, now_ns, budget, conditions):
        if batch is None:
            before_ns = LAST_NS if wanted.to_unix_ns is None else wanted.to_unix_ns
            return Found(frozenset(found), min(looked_from_ns or now_ns, before_ns))
        looked_from_ns = batch[-1]["end_unix_ns"]
        found |= _fitting(scope, batch, terms)
        if len(found) >= most or budget.is_over:
            return Found(frozenset(found), looked_from_ns)
    return Found(frozenset(found), None)


def sample(
    scope: Scope, wanted: RunFilter, now_ns: int, budget_s: float, conditions: Conditions
) -> list[dict[str, set[str]]]:
    """What the spans of each of the newest runs tell, by name: values that are short enough to be chosen from."""
    others = replace(wanted, q=str(wanted.query.without(*wanted.query.of_attributes)), sort="newest", cursor=None)
    batch = next(_candidates(scope, others, now_ns, Budget(budget_s), conditions), None) or []
    told: defaultdict[bytes, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for trace_id, _, _, body in read_bodies(_places(scope, batch), Signal.TRACES):
        for span in spans_of(bytes(body), trace_id.hex()):
            for name, value in (*span.attributes.items(), *span.resource.items()):
                told[bytes(trace_id)][name] |= {text for text in texts_of(value) if len(text) <= OFFERED_CHARACTERS}
    return list(told.values())


def _places(scope: Scope, batch: Sequence[dict[str, Any]]) -> set[Place]:
    return {(bytes(run["trace_id"]), scope.project_id, run["day"]) for run in batch}


def _candidates(
    scope: Scope, others: RunFilter, now_ns: int, budget: Budget, conditions: Conditions
) -> Iterator[list[dict[str, Any]] | None]:
    """Runs for which the other conditions hold, newest first, in batches that grow; None where the time was up."""
    before_ns = LAST_NS if others.to_unix_ns is None else others.to_unix_ns
    size = FIRST_BATCH
    with snapshot() as cursor:
        for window in windows(cursor, scope.project_id, others, before_ns, now_ns):
            within = replace(others, from_unix_ns=window.from_ns, to_unix_ns=window.to_ns)
            last: tuple[Any, ...] | None = None
            while True:
                rows = budget.ask(cursor, partial(_batch, conditions(within), size, last))
                if rows is None:
                    yield None
                    return
                if rows:
                    yield rows
                if len(rows) < size:
                    break
                last = rows[-1]["end_unix_ns"], rows[-1]["trace_id"], rows[-1]["root_span_id"]
                size = min(2 * size, BATCH_MOST)


def _batch(narrowed: tuple[str, list[Any]], size: int, last: tuple[Any, ...] | None) -> list[dict[str, Any]]:
    where, parameters = narrowed
    if last is not None:
        where, parameters = f"{where} AND (end_unix_ns, trace_id, root_span_id) < (%s, %s, %s)", [*parameters, *last]
    return select(
        f"""SELECT trace_id, root_span_id, day, end_unix_ns FROM ingest_run WHERE {where}
            ORDER BY end_unix_ns DESC, trace_id DESC, root_span_id DESC LIMIT {size}""",
        parameters,
    )


def _fitting(scope: Scope, batch: Sequence[dict[str, Any]], terms: Sequence[Term]) -> set[tuple[bytes, bytes]]:
    """Those runs of a batch for which all terms hold. A span is of the run whose root is above it."""
    bodies: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for trace_id, _, _, body in read_bodies(_places(scope, batch), Signal.TRACES):
        bodies[bytes(trace_id)].append(bytes(body))
    roots: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for run in batch:
        roots[bytes(run["trace_id"])].append(bytes(run["root_span_id"]))
    return {
        (trace_id, root)
        for trace_id, of_trace in roots.items()
        for root in _fitting_roots(trace_id, of_trace, bodies[trace_id], terms)
    }


def _fitting_roots(
    trace_id: bytes, roots: Sequence[bytes], bodies: Sequence[bytes], terms: Sequence[Term]
) -> Iterable[bytes]:
    contents = [decompress(body) for body in bodies]
    told = [any(all(needle in content for needle in needles(term)) for content in contents) for term in terms]
    if not any(told):
        return roots if all(term.negated for term in terms) else ()
    if any(not is_told and not term.negated for is_told, term in zip(told, terms, strict=True)):
        return ()
    spans = {span.span_id: span for content in contents for span in spans_in(content, trace_id.hex())}
    by_root: defaultdict[str, list[Span]] = defaultdict(list)
    known = {root.hex() for root in roots}
    for span in spans.values():
        by_root[_root_of(span, spans, known)].append(span)
    return [
        root
        for root in roots
        if all(any(has(span, term) for span in by_root[root.hex()]) != term.negated for term in terms)
    ]


def _root_of(span: Span, spans: dict[str, Span], roots: set[str]) -> str:
    """The first root at or above a span. One whose parents are missing is the only run's, where there is one."""
    at: Span | None = span
    seen: set[str] = set()
    while at is not None and at.span_id not in seen:
        if at.span_id in roots:
            return at.span_id
        seen.add(at.span_id)
        at = spans.get(at.parent_span_id or "")
    return next(iter(roots)) if len(roots) == 1 else ""

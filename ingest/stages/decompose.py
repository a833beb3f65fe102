"""Spans in, runs out: the one entry to the latency model."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.semconv import read_facts
from ingest.spans import Span
from ingest.stages.aborted import warn_aborted
from ingest.stages.assemble import engine_name
from ingest.stages.calls import find_calls
from ingest.stages.claims import build_claims
from ingest.stages.drafts import CallDraft, Scope
from ingest.stages.engine_facts import take_engine_facts
from ingest.stages.estimate import Bases, BasisKey
from ingest.stages.identity import service_of
from ingest.stages.model import Decomposition, Run
from ingest.stages.rounds import give_up, settle_rounds
from ingest.stages.run import build_run
from ingest.stages.runs import RunRoot, find_runs
from ingest.stages.scopes import build_scopes, holders
from ingest.stages.split import split_by_estimate, split_call
from ingest.stages.sub_agents import place_sub_agents
from ingest.stages.sweep import sweep
from ingest.stages.tools import asked_names, find_tools, promote
from ingest.stages.tree import Node, build_tree, walk

# Raised once for each release by which the same spans give other figures: `manage.py recompute --outdated` finds the
# rest. A test sees to it (tests/tools/algorithm.py).
ALGORITHM = 1


def decompose(spans: Sequence[Span], engine_spans: Sequence[Span] = (), bases: Bases | None = None) -> Decomposition:
    """All runs of one trace. The order of ``spans`` does not matter, but for two with one id: the later wins.

    ``engine_spans`` are engines' spans from other traces, of requests that came without trace context: they
    join a call by its response id and are no part of this trace. ``bases`` are what calls of unknown split may
    be estimated by; without them nothing is estimated.
    """
    tree = build_tree(spans)
    place_sub_agents(tree)
    foreign = _by_response(engine_spans)
    runs = tuple(_run(root, foreign, bases or {}) for root in find_runs(tree))
    tree.release()
    return Decomposition(
        runs=runs, spans=len(tree.order), duplicate_spans=tree.duplicates, warnings=tuple(tree.oddities)
    )


def _by_response(spans: Sequence[Span]) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    latest = {(span.span_id, span.trace_id): span for span in spans}
    for _, span in sorted(latest.items()):
        node = Node(span, read_facts(span))
        if node.facts.engine is not None and node.facts.response_id is not None:
            found.setdefault(node.facts.response_id, []).append(node)
    return found


def _run(root: RunRoot, foreign: dict[str, list[Node]], bases: Bases) -> Run:
    # 1. What the spans are: calls, tools, scopes.
    order = walk([root.node])
    asked = asked_names(order)
    promote(order, asked)
    calls = find_calls(order)
    holding = holders(order)
    find_tools(order, asked, holding)
    # 2. When each call began, spoke and ended; who asked for which tool.
    for call in calls:
        if not call.engines:
            call.engines = foreign.get(call.told.response_id or "", [])
        if call.engines:
            take_engine_facts(call)
        split_call(call)
    scopes = build_scopes(order, holding)
    settle_rounds(scopes)
    warn_aborted(calls)
    if bases:
        _estimate(calls, service_of(root.node), bases)
    # 3. Who owns each nanosecond.
    start, end = _window(root, scopes)
    if not root.virtual:
        _give_up(scopes, end)
    phases = sweep(build_claims(scopes), scopes, start, end)
    run = build_run(root, order, scopes, phases, end)
    for scope in scopes:
        scope.release()
    return run


def _estimate(calls: list[CallDraft], service: str | None, bases: Bases) -> None:
    for call in calls:
        model = call.told.response_model or call.told.request_model
        engine = engine_name(call) if call.engines else None
        basis = bases.get(BasisKey(service, model, engine)) if service and model else None
        if basis is not None:
            split_by_estimate(call, basis)


def _window(root: RunRoot, scopes: list[Scope]) -> tuple[int, int]:
    """The run's wall: its root's time, and on to the end of the last call where the root closed too early.

    root   |------------|
    calls     |---|  |------|        the wall extends to here
    tool          |-------------|    abandoned: not to here
    """
    node = root.node
    ends = [call.end for scope in scopes if scope.level == 0 for call in scope.calls]
    if not root.virtual:
        return node.start, max([node.end, *ends])
    ends += [tool.until for scope in scopes if scope.level == 0 for tool in scope.tools]
    return node.start, max([node.start, *ends]) if ends else node.end


def _give_up(scopes: list[Scope], end: int) -> None:
    """Tools that run on after the run has ended were not waited for."""
    for tool in (tool for scope in scopes if scope.level == 0 for tool in scope.tools):
        if tool.until > end:
            give_up(tool, max(end, tool.start), "the run had ended")

"""Scopes: where "started last owns it" holds (docs/latency-model.md, "Overlap").

A scope is the run, or a tool that holds agents or model calls. Agents and steps within one are no scopes of
their own, unless several run side by side and each holds model calls: then each is a branch.
"""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, ENGINE, STAGE, TOOL
from ingest.stages.drafts import CallDraft, Scope, ToolDraft
from ingest.stages.model import TOOL_EXECUTION
from ingest.stages.tree import BEGINS_CALL, IN_CALL, Node

# Deeper nests are flattened into the last level, so that hostile trees stay cheap.
MAX_LEVELS = 64
# Steps one after another may overlap by the time it takes to close a span (in percent of the shorter one).
BRANCH_OVERLAP_PERCENT = 20


def holders(order: list[Node]) -> set[Node]:
    """All nodes that hold a model call or an agent. The calls have been found."""
    found: set[Node] = set()
    for node in reversed(order):
        if node.parent is not None and (node.marks & IN_CALL or node.facts.kind is AGENT or node in found):
            found.add(node.parent)
    return found


def build_scopes(order: list[Node], holding: set[Node]) -> list[Scope]:
    """All scopes of a run, the run's own first, with their calls, tools and branches in order of start. Calls and tools
    have been found."""
    root = order[0]
    scopes = [Scope(index=0, level=0, parent=None, start=root.start, end=root.end)]
    branches = _branches(order)
    for node in order:
        kind = node.kind
        scope = scopes[node.parent.scope] if node.parent is not None and node is not root else scopes[0]
        call = node.call if node.marks & BEGINS_CALL and (kind is CALL or kind is ENGINE) else None
        tool = node.tool if kind is TOOL else None
        if call is not None:
            call.scope = scope
            scope.calls.append(call)
        if kind is STAGE:
            scope.stages.append(node)
        if tool is not None and tool.nodes[0] is node:
            tool.scope = scope
            scope.tools.append(tool)
            holds = any(part in holding or part.facts.kind is AGENT for part in tool.nodes)
            if holds and scope.level < MAX_LEVELS:
                tool.inner = scope = _open(scopes, scope, node, tool)
        elif node in branches and node is not root and scope.level < MAX_LEVELS:
            branch = _open(scopes, scope, node)
            scope.branches.append(branch)
            scope = branch
        node.scope = scope.index
    for scope in scopes:
        scope.calls.sort(key=CallDraft.key)
        scope.tools.sort(key=ToolDraft.key)
    return scopes


def _open(scopes: list[Scope], parent: Scope, node: Node, tool: ToolDraft | None = None) -> Scope:
    """A scope for a tool, or for a branch: no sub-agent, so level and background stay its parent's."""
    scope = Scope(
        index=len(scopes),
        level=parent.level + (tool is not None),
        parent=parent,
        start=node.start,
        end=node.end,
        background=parent.background if tool is None else TOOL_EXECUTION,
        background_span_id=parent.background_span_id if tool is None else tool.span_id,
    )
    scopes.append(scope)
    return scope


def _branches(order: list[Node]) -> set[Node]:
    """Nodes that hold calls of their own scope and run beside a sibling that does so too.

    step a  |---call---tool---call--|
    step b     |---call----|            side by side: branches
    step c                             |--call--|      after them: none
    """
    own: set[Node] = set()
    for node in reversed(order):
        if node.parent is not None and node.kind is not TOOL and (node.marks & BEGINS_CALL or node in own):
            own.add(node.parent)
    found: set[Node] = set()
    for node in order:
        if node not in own or len(node.children) < 2:
            continue
        latest: Node | None = None
        for child in node.children:
            if child.marks & BEGINS_CALL or child.kind is TOOL or child not in own:
                continue
            if latest is not None and _beside(latest, child):
                found.add(latest)
                found.add(child)
            if latest is None or child.end > latest.end:
                latest = child
    return found


def _beside(one: Node, other: Node) -> bool:
    overlap = min(one.end, other.end) - max(one.start, other.start)
    shorter = min(one.end - one.start, other.end - other.start)
    return overlap > 0 and overlap * 100 > shorter * BRANCH_OVERLAP_PERCENT

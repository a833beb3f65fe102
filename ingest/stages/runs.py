"""Which spans of a trace are runs (docs/latency-model.md, "Run").

A run is the topmost agent span. Where a tree has none, it is the tree itself if it holds model or tool
calls. While a root is still to come, the orphans of a trace are one run under the parent they name.
"""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from ingest.semconv import Facts
from ingest.semconv.facts import AGENT, CALL, CHAIN, ENGINE, TOOL, WORKFLOW
from ingest.spans import KIND_CONSUMER, KIND_INTERNAL, KIND_SERVER, Span
from ingest.stages.tree import Node, Tree, walk

HOLDS_CALL, HOLDS_TOOL, HOLDS_AGENT = 1, 2, 4
# How many of the runs that started before an orphan are asked whether it is theirs.
LOOK_BACK = 16
REMOTE_KNOWN, REMOTE = 0x100, 0x200
_STEPS = (CHAIN, WORKFLOW)


class RunRoot(Struct, frozen=True, kw_only=True):
    """``ended`` is False while the real root may still come; a ``virtual`` node only stands for it."""

    node: Node
    ended: bool
    virtual: bool = False


def find_runs(tree: Tree) -> list[RunRoot]:
    _note_holdings(tree.order)
    held = 0
    for top in tree.tops:
        held |= top.holds
    has_agent = bool(held & HOLDS_AGENT)
    roots: list[RunRoot] = []
    orphans: list[Node] = []
    for top in tree.tops:
        if top.missing_parent is None:
            roots.extend(RunRoot(node=node, ended=True) for node in _runs_of(top, has_agent, bool(held)))
        else:
            orphans.append(top)
    orphans = _adopt(orphans, roots)
    roots.extend(_runs_of_orphans(orphans, has_agent))
    roots.sort(key=lambda root: root.node.key())
    return roots


def _note_holdings(order: list[Node]) -> None:
    """Note at each node what its subtree holds, itself included."""
    for node in reversed(order):
        kind, bits = node.kind, node.holds
        if kind is CALL or kind is ENGINE:
            bits |= HOLDS_CALL
        elif kind is TOOL and node.facts.mcp_side != "server":
            bits |= HOLDS_TOOL
        elif kind is AGENT:
            bits |= HOLDS_AGENT
        if bits:
            node.holds = bits
            if node.parent is not None:
                node.parent.holds |= bits


def _runs_of(top: Node, has_agent: bool, any_held: bool) -> list[Node]:
    """The runs in a tree whose top has come."""
    agents, strays, chains = _topmost(top)
    if agents:
        return agents + [stray for stray in strays if stray.kind is CALL]
    if not top.holds & (HOLDS_CALL | HOLDS_TOOL):
        # Nothing in the whole trace tells of a call: a named step of a framework is still what its user waited for.
        return [] if any_held else [node for node in walk([top]) if node.kind in _STEPS][:1]
    if not has_agent and len(chains) == 1 and not strays:
        return chains
    return [top]


def _topmost(top: Node) -> tuple[list[Node], list[Node], list[Node]]:
    """Topmost agents, model and tool calls outside of them, and topmost chains that hold such calls."""
    agents: list[Node] = []
    strays: list[Node] = []
    chains: list[Node] = []
    waiting = [(top, False)]
    while waiting:
        node, in_chain = waiting.pop()
        kind = node.kind
        if kind is AGENT or (kind is WORKFLOW and node.holds):
            agents.append(node)
            continue
        if kind is CALL or kind is ENGINE or kind is TOOL:
            if not in_chain and node.holds:
                strays.append(node)
            continue
        if kind is CHAIN and not in_chain and node.holds:
            chains.append(node)
            in_chain = True
        waiting.extend((child, in_chain) for child in node.children)
    return sorted(agents, key=Node.key), sorted(strays, key=Node.key), chains


def _adopt(orphans: list[Node], roots: list[RunRoot]) -> list[Node]:
    """Give orphans to the run of the same trace in whose window they start: a span between them was lost."""
    left = []
    roots = sorted(roots, key=lambda root: root.node.key())
    starts = [root.node.start for root in roots]
    for orphan in orphans:
        before = bisect_right(starts, orphan.start)
        recent = roots[max(0, before - LOOK_BACK) : before]
        homes = [root.node for root in recent if orphan.start <= root.node.end]
        if not homes:
            left.append(orphan)
            continue
        home = max(homes, key=Node.key)
        home.adopt(orphan)
        if orphan.holds:
            orphan.warn("orphan_adopted", f"its parent {orphan.missing_parent} never came; taken into the run by time")
    if len(left) < len(orphans):
        for root in roots:
            root.node.children = sorted(root.node.children, key=Node.key)
    return left


def _runs_of_orphans(orphans: list[Node], has_agent: bool) -> list[RunRoot]:
    pieces = [orphan for orphan in orphans if orphan.holds]
    if not pieces:
        return []
    agents: list[RunRoot] = []
    loose = False
    for piece in pieces:
        found, strays, chains = _topmost(piece)
        loose = loose or bool(strays) or not found
        agents.extend(RunRoot(node=node, ended=_is_remote(piece)) for node in found)
        if not has_agent and len(pieces) == 1 and chains == [piece] and _is_remote(piece):
            return [RunRoot(node=piece, ended=True)]
    if agents and not loose:
        return agents
    return [_stand_in(pieces)]


def _is_remote(top: Node) -> bool:
    """Whether the missing parent belongs to another process, so that this one's own root has come."""
    flags = top.span.flags
    if flags & REMOTE_KNOWN:
        return bool(flags & REMOTE)
    return top.span.kind in (KIND_SERVER, KIND_CONSUMER) and top.kind is not ENGINE


def _stand_in(pieces: list[Node]) -> RunRoot:
    """A node for the root that has not come.

    parent  ? - - - - - - - - - - - - - - ?      named by its children, not here yet
    pieces     |--call--|  |--tool--|
    """
    first = min(pieces, key=Node.key)
    missing = {piece.missing_parent for piece in pieces}
    root_id = next(iter(missing)) if len(missing) == 1 else None
    span = Span(
        trace_id=first.span.trace_id,
        span_id=root_id or first.span.span_id,
        parent_span_id=None,
        name=first.span.name,
        kind=KIND_INTERNAL,
        start_unix_ns=first.start,
        end_unix_ns=max(first.start, *(_last_end(piece) for piece in pieces)),
        resource=first.span.resource,
    )
    node = Node(span, Facts(agent=first.facts.agent))
    node.children = sorted(pieces, key=Node.key)
    for piece in pieces:
        piece.parent = node
    return RunRoot(node=node, ended=False, virtual=True)


def _last_end(piece: Node) -> int:
    return max(node.end for node in walk([piece]))

"""The tree of one trace, from spans that come late, twice, without parents, in cycles, in absurd times.

Nothing here recurses: ten thousand levels are as good as ten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING

from ingest.semconv import Facts, Kind, read_facts
from ingest.semconv.facts import ENGINE
from ingest.spans import KIND_CLIENT, KIND_SERVER, Span
from ingest.stages.model import Oddity
from ingest.stages.order import sort_by_start

if TYPE_CHECKING:
    from ingest.stages.drafts import CallDraft, ToolDraft

MAX_UNIX_NS = (1 << 63) - 1
# Before 2000 or after 2200 no telemetry was or will be sent by a clock that is set.
EARLIEST_UNIX_NS, LATEST_UNIX_NS = 946_684_800_000_000_000, 7_258_118_400_000_000_000
SANE_UNIX_NS = range(EARLIEST_UNIX_NS, LATEST_UNIX_NS)
_START = attrgetter("start")
_SPAN_START = attrgetter("start_unix_ns")
# Bits of ``Node.marks``: the span is one of a call's, and the outermost of them.
IN_CALL, BEGINS_CALL = 1, 2
_HOST = ("host.name", "host.id", "service.instance.id", "service.name")


class Node:
    """A span in its place. ``start`` and ``end`` are Unix ns, clamped; another host's clock is shifted.

    ``above``, ``call``, ``tool``, ``marks``, ``holds`` and ``scope`` are what the steps of the decomposition note for
    themselves and each other: in a trace of 100,000 spans a dictionary by node is far slower, since nothing of it is
    near. ``call`` and ``tool`` are the drafts that the span is a part of.
    """

    __slots__ = (
        "above",
        "call",
        "children",
        "end",
        "facts",
        "holds",
        "kind",
        "marks",
        "missing_parent",
        "oddities",
        "parent",
        "scope",
        "shift",
        "span",
        "start",
        "tool",
    )

    def __init__(self, span: Span, facts: Facts) -> None:
        self.span = span
        self.facts = facts
        self.kind: Kind = facts.kind
        self.parent: Node | None = None
        # A list only where there are any: most nodes have none, and a step that looks for them touches nothing else.
        self.children: list[Node] | tuple[()] = ()
        self.missing_parent: str | None = None
        self.oddities: list[Oddity] | None = None
        self.above: Node | None = None
        self.call: CallDraft | None = None
        self.tool: ToolDraft | None = None
        self.marks = 0
        self.holds = 0
        self.scope = 0
        self.shift = 0
        self.start = span.start_unix_ns
        self.end = span.end_unix_ns

    def warn(self, code: str, text: str) -> None:
        if self.oddities is None:
            self.oddities = []
        self.oddities.append(Oddity(code=code, text=text, span_id=self.span.span_id))

    def adopt(self, child: Node) -> None:
        """Take ``child`` as the last of the children."""
        child.parent = self
        if isinstance(self.children, list):
            self.children.append(child)
        else:
            self.children = [child]

    def key(self) -> tuple[int, int, str]:
        """A total order that does not depend on arrival: by start, the longer first, then by id."""
        return (self.start, -self.end, self.span.span_id)


@dataclass(kw_only=True)
class Tree:
    """``tops`` have no parent here: real roots, orphans (``missing_parent``) and heads of cut cycles.

    ``order`` has every node once, parents before children.
    """

    tops: list[Node]
    order: list[Node]
    duplicates: int
    oddities: list[Oddity] = field(default_factory=list)

    def release(self) -> None:
        """Cut all links, so that the nodes go at once: left to the garbage collector they cost a sixth of all."""
        for node in self.order:
            node.children = ()
            node.parent = node.above = node.call = node.tool = None


def build_tree(spans: Sequence[Span]) -> Tree:
    latest: dict[str, Span] = {span.span_id: span for span in spans}
    # Made in the order in which the steps will walk them, so that neighbours lie near each other in memory.
    nodes = {span.span_id: Node(span, read_facts(span)) for span in sorted(latest.values(), key=_SPAN_START)}
    servers = False
    for node in nodes.values():
        if not EARLIEST_UNIX_NS <= node.start <= node.end < LATEST_UNIX_NS:
            _clamp(node)
        servers = servers or node.span.kind == KIND_SERVER
    tops = _link(nodes)
    order = walk(tops)
    if len(order) < len(nodes):
        tops += _cut_cycles(nodes, order)
        order = walk(tops)
    if servers:
        for node in order:
            _shift(node)
    for node in order:
        if len(node.children) > 1:
            sort_nodes(node.children)
    sort_nodes(tops)
    return Tree(tops=tops, order=order, duplicates=len(spans) - len(nodes))


def sort_nodes(nodes: list[Node]) -> None:
    """Into the order of ``Node.key``."""
    sort_by_start(nodes, _START, Node.key)


def walk(tops: Iterable[Node]) -> list[Node]:
    """Every node once, parents before children, in order of start among siblings."""
    order: list[Node] = []
    waiting = list(tops)
    waiting.reverse()
    while waiting:
        node = waiting.pop()
        order.append(node)
        children = node.children
        if len(children) == 1:
            waiting.append(children[0])
        elif children:
            waiting.extend(reversed(children))
    return order


def _clamp(node: Node) -> None:
    """Bring absurd times into the range of a bigint, and say so."""
    start, end = node.start, node.end
    if start not in SANE_UNIX_NS or (end not in SANE_UNIX_NS and end != 0):
        node.warn("time_out_of_range", f"span times {start} and {end} lie outside 2000 to 2200")
        # One absurd bound beside a sane one is taken for it; two absurd ones stay, clamped.
        if start in SANE_UNIX_NS:
            end = start
        elif end in SANE_UNIX_NS:
            start = end
        start = min(max(start, 0), MAX_UNIX_NS)
        end = min(max(end, 0), MAX_UNIX_NS)
    if end < start:
        node.warn("ended_before_start", f"the span ends {start - end} ns before it starts; taken as empty")
        end = start
    node.start, node.end = start, end


def _link(nodes: dict[str, Node]) -> list[Node]:
    tops = []
    for node in nodes.values():
        parent_id = node.span.parent_span_id
        parent = nodes.get(parent_id) if parent_id else None
        if parent is None or parent is node:
            if parent is node:
                node.warn("parent_cycle", "the span names itself as its parent")
            elif parent_id:
                node.missing_parent = parent_id
            tops.append(node)
        else:
            parent.adopt(node)
    return tops


def _cut_cycles(nodes: dict[str, Node], reached: list[Node]) -> list[Node]:
    """Cut each cycle before its earliest span, whatever the order of arrival."""
    seen = {node.span.span_id for node in reached}
    heads: list[Node] = []
    for node in nodes.values():
        path: list[Node] = []
        at: Node | None = node
        on_path: set[str] = set()
        while at is not None and at.span.span_id not in seen and at.span.span_id not in on_path:
            on_path.add(at.span.span_id)
            path.append(at)
            at = at.parent
        seen |= on_path
        if at is not None and at.span.span_id in on_path:
            cycle = path[path.index(at) :]
            head = min(cycle, key=Node.key)
            if head.parent is not None:
                head.parent.children = [child for child in head.parent.children if child is not head]
            head.parent = None
            head.warn("parent_cycle", f"{len(cycle)} spans name each other as parents; cut before the earliest")
            heads.append(head)
    return heads


def _shift(node: Node) -> None:
    """Move a server's span, and what is under it, into its client's window where the hosts' clocks disagree.

    client  |-----------------|
    server                        |-------|      starts after its caller has ended: not possible
    shifted      |-------|                       in the middle; its durations stay
    """
    parent = node.parent
    if parent is None:
        return
    node.shift = parent.shift
    if node.shift:
        _move(node, node.shift)
    skewed = (
        node.span.kind == KIND_SERVER
        and parent.span.kind == KIND_CLIENT
        and node.kind is not ENGINE
        and not parent.start <= node.start <= parent.end
        and node.end - node.start <= parent.end - parent.start
        and any(node.span.resource.get(key) != parent.span.resource.get(key) for key in _HOST)
    )
    if skewed:
        slack = (parent.end - parent.start) - (node.end - node.start)
        by = parent.start + slack // 2 - node.start
        node.shift += by
        _move(node, by)
        node.warn("clock_skew", f"another host's clock: shifted by {by} ns into its caller's window")


def _move(node: Node, by: int) -> None:
    node.start = min(max(node.start + by, 0), MAX_UNIX_NS)
    node.end = min(max(node.end + by, 0), MAX_UNIX_NS)

"""Which spans are one tool call: MCP chains, functions within tools, agents as tools, unkinded spans."""

from __future__ import annotations

from ingest.semconv.facts import AGENT, CALL, CHAIN, OTHER, TOOL
from ingest.stages.drafts import ToolDraft
from ingest.stages.tree import Node

_BARRIERS = frozenset({AGENT, CALL})
_PSEUDO = frozenset({"final_answer", "finish", "(merged)", "handoff"})
_PSEUDO_STARTS = ("handoff to ", "transfer_to_", "handoff_to_")


def asked_names(order: list[Node]) -> set[str]:
    """The names of all tools that the calls under a root ask for."""
    return {asked.name for node in order if node.facts.asked for asked in node.facts.asked if asked.name}


def promote(order: list[Node], asked: set[str]) -> None:
    """Make tools of spans that bear the name of a tool that was asked for: unkinded ones and agents."""
    if not asked:
        return
    # A tool that has spans of its own needs no agent's to stand for it.
    seen = {node.facts.tool for node in order if node.kind is TOOL}
    absent = asked - seen
    for node in order[1:]:
        if node.kind is OTHER:
            if node.span.name in asked:
                node.kind = TOOL
        elif node.kind is AGENT and not _is_under_tool(node) and any(name in absent for name in _names(node)):
            node.kind = TOOL


def _is_under_tool(node: Node) -> bool:
    return node.parent is not None and node.parent.kind is TOOL


def _names(node: Node) -> list[str]:
    """What an agent or a function may be called by; frameworks append the method to an agent's name."""
    name = node.span.name
    found = [name]
    if node.kind is AGENT:
        found += [name.rsplit(".", 1)[0], node.facts.agent or name]
    return found


def name_of(node: Node, asked: set[str]) -> str:
    told = node.facts.tool
    if told is not None:
        return told
    names = _names(node)
    if node.facts.kind is AGENT:
        names += [node.span.name.rsplit(".", 1)[0], node.facts.agent or node.span.name]
    return next((name for name in names if name in asked), names[0])


def is_pseudo(name: str) -> bool:
    """Whether a tool does no work: a hand-off or a final answer, by the name that frameworks give it."""
    lowered = name.lower()
    return lowered in _PSEUDO or lowered.startswith(_PSEUDO_STARTS)


def find_tools(order: list[Node], asked: set[str], scoping: set[Node]) -> None:
    """Note at their spans the tools under one root. ``scoping`` are the nodes that hold agents or model calls.

    execute_tool  |------------------------------|
    MCP client       |-------------------------|
    MCP server            |---------------|          one tool; its transport is what is around the server
    """
    _note_tools_above(order)
    for node in order:
        above = node.above
        if node.kind is TOOL and above is not None and _only_wraps(above, node, asked):
            above.kind = CHAIN
    for node in order:
        if node.kind is not TOOL:
            continue
        name = name_of(node, asked)
        above = node.above
        outer = above.tool if above is not None else None
        if outer is not None and (_is_same(outer, node, name) or outer.nodes[0] not in scoping):
            outer.nodes.append(node)
            node.tool = outer
        else:
            node.tool = ToolDraft(nodes=[node], name=name, start=node.start, end=node.end)


def _note_tools_above(order: list[Node]) -> None:
    root = order[0]
    for node in order:
        parent = node.parent
        if parent is None or parent.kind in _BARRIERS:
            node.above = None
        elif parent.kind is TOOL:
            node.above = parent
        else:
            node.above = None if node is root else parent.above


def _only_wraps(above: Node, node: Node, asked: set[str]) -> bool:
    """A tool span that nobody asked for around tools that were asked for."""
    return name_of(node, asked) in asked and name_of(above, asked) not in asked and above.facts.mcp_side is None


def _is_same(outer: ToolDraft, node: Node, name: str) -> bool:
    return outer.name == name or node.facts.mcp_side is not None or outer.nodes[-1].facts.mcp_side is not None


def transport_ns(tool: ToolDraft) -> int | None:
    """Of an MCP call: the outermost MCP client's time less the server's. Durations only."""
    clients = [node for node in tool.nodes if node.facts.mcp_side == "client"]
    servers = [node for node in tool.nodes if node.facts.mcp_side == "server"]
    if not servers:
        return None
    outer, inner = (clients or tool.nodes)[0], servers[-1]
    return max(0, (outer.end - outer.start) - (inner.end - inner.start))

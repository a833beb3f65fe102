"""Sub-agents whose spans do not lie under the tool that called them.

Some frameworks hang every agent's span under the workflow, also that of an agent which a tool runs:

    workflow      |------------------------------|
      agent       |------------------------------|
        tool            |------------|
      sub-agent          |----------|                 fills the tool: taken for what it runs
"""

from __future__ import annotations

from bisect import bisect_right

from ingest.semconv.facts import AGENT, TOOL
from ingest.stages.tree import Node, Tree, walk

# How much of the tool the agent fills (in percent). Agents side by side do not fill each other's tools by chance.
FILLS_PERCENT = 80
LOOK_BACK = 8
MAX_ABOVE = 16  # levels between a tool and the top; deeper nests are left as they are


def place_sub_agents(tree: Tree) -> None:
    """Hang each agent that fills another agent's tool under that tool."""
    agents = [node for node in tree.order if node.kind is AGENT]
    if len(agents) < 2:
        return
    tools = sorted([node for node in tree.order if node.kind is TOOL and not node.children], key=Node.key)
    starts = [tool.start for tool in tools]
    left: set[Node] = set()  # parents that lose children, at the end and once each: a trace may have many
    moved: set[Node] = set()
    for agent in agents:
        before = bisect_right(starts, agent.start)
        recent = tools[max(0, before - LOOK_BACK) : before]
        home = next((tool for tool in reversed(recent) if _fills(agent, tool) and _may_hold(tool, agent)), None)
        if home is not None:
            if agent.parent is not None:
                left.add(agent.parent)
            moved.add(agent)
            home.adopt(agent)
    if moved:
        for parent in left:
            parent.children = [child for child in parent.children if child.parent is parent]
        tree.tops = [top for top in tree.tops if top not in moved]
        tree.order = walk(tree.tops)


def _fills(agent: Node, tool: Node) -> bool:
    within = tool.start <= agent.start and agent.end <= tool.end
    return within and (agent.end - agent.start) * 100 >= (tool.end - tool.start) * FILLS_PERCENT


def _may_hold(tool: Node, agent: Node) -> bool:
    """The agent hangs higher than the tool, not below a tool of its own, and not above this one."""
    if tool.children or agent.missing_parent is not None:
        return False
    above = tool.parent
    found = agent.parent is None
    for _ in range(MAX_ABOVE):
        if above is None:
            return found and tool.parent is not agent.parent
        if above is agent:
            return False
        found = found or above is agent.parent
        above = above.parent
    return False

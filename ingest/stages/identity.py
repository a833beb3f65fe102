"""Who a run was: agent, service, version, environment, session, user, status."""

from __future__ import annotations

from collections.abc import Iterable

from ingest.frozen import Frozen
from ingest.semconv.facts import AGENT, TOOL, WORKFLOW
from ingest.semconv.values import text
from ingest.spans import STATUS_ERROR
from ingest.stages.drafts import CallDraft
from ingest.stages.tree import Node

_ENVIRONMENT = ("deployment.environment.name", "deployment.environment")
MAX_ABOVE = 32
_RESPONSE_IDS = ("resp_", "chatcmpl-", "msg_")


class Identity(Frozen, frozen=True, kw_only=True):
    name: str
    agent: str | None
    service: str | None
    version: str | None
    environment: str | None
    session_id: str | None
    user_id: str | None
    status: str
    error: str | None


def identify(root: Node, order: list[Node], calls: list[CallDraft]) -> Identity:
    """``order`` are the run's nodes, the root first; ``calls`` those of the run's own scope."""
    owner = _owner(root)
    agent = _agent(root)
    response_ids = {call.told.response_id for call in calls}
    error = _error(root, calls)
    session = user = None
    for node in _near(root, order):
        told = node.facts.session
        if session is None and told and told not in response_ids and not told.startswith(_RESPONSE_IDS):
            session = told
        user = user or node.facts.user
        if session and user:
            break
    return Identity(
        name=_title(root, agent),
        agent=agent,
        service=_told_by(owner, "service.name"),
        version=_told_by(owner, "service.version"),
        environment=next((told for key in _ENVIRONMENT if (told := _told_by(owner, key))), None),
        session_id=session,
        user_id=user,
        status="ok" if error is None else "error",
        error=error,
    )


def service_of(root: Node) -> str | None:
    return _told_by(_owner(root), "service.name")


def _owner(root: Node) -> Node:
    """Whose resource tells of the run: the root's, or its first child's where the root was never sent."""
    return root if root.span.resource else (root.children[0] if root.children else root)


def _near(root: Node, order: list[Node]) -> Iterable[Node]:
    """The run's spans from the root down, then those above it: some tell a session only on top."""
    yield from order
    above = root.parent
    for _ in range(MAX_ABOVE):
        if above is None:
            return
        yield above
        above = above.parent


def _agent(root: Node) -> str | None:
    """The root's agent, else the first one named below it and not within a tool, else the root's own name."""
    if root.facts.agent is not None and root.facts.kind is not WORKFLOW:
        return root.facts.agent
    named: str | None = root.facts.agent
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.facts.agent is not None and node.facts.kind is not WORKFLOW:
            if node.facts.kind is AGENT:
                return node.facts.agent
            named = named or node.facts.agent
        if node.kind is not TOOL:
            waiting.extend(reversed(node.children))
    return named or (root.span.name if root.facts.kind is AGENT else None)


def _title(root: Node, agent: str | None) -> str:
    return agent or root.span.name or "run"


def _told_by(node: Node, key: str) -> str | None:
    return text(node.span.resource.get(key)) or text(node.span.attributes.get(key))


def _error(root: Node, calls: list[CallDraft]) -> str | None:
    """A run failed if its root says so, or if its last model call failed and nothing came after it."""
    if root.span.status == STATUS_ERROR:
        return root.facts.error or "error"
    last = calls[-1] if calls else None
    if last is not None and last.told.error and not last.tools:
        return last.told.error
    return None

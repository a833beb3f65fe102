"""Calls and tools while they are being worked out. Drafts never leave the decomposition that made them."""

from __future__ import annotations

from msgspec import Struct

from ingest.semconv import Facts
from ingest.semconv.facts import NOTHING, AskedTool
from ingest.stages.model import ORCHESTRATION, UNKNOWN, Owner, Source
from ingest.stages.tree import Node


class Part(Struct, kw_only=True, eq=False):
    """An interval of a call: Unix ns, and who owns it."""

    start: int
    end: int
    owner: Owner


class CallDraft(Struct, kw_only=True, eq=False):
    """One model call. ``nodes`` are its spans from the outermost in; ``start`` and ``end`` its output's."""

    nodes: list[Node]
    engines: list[Node] = []
    https: list[Node] = []
    failed_attempts: int = 0
    failed: list[Node] = []  # the failed attempts that have spans of their own
    dead: bool = False
    start: int = 0
    end: int = 0
    first_token: int | None = None
    source: Source = UNKNOWN
    parts: list[Part] = []
    told: Facts = NOTHING
    asked: tuple[AskedTool, ...] = ()
    wanted: frozenset[str | None] = frozenset()
    asks: bool = False
    carries: bool = False
    round: int = 0
    scope: Scope | None = None
    tools: list[ToolDraft] = []
    queue_ns: int | None = None
    prefill_ns: int | None = None
    decode_ns: int | None = None
    transport_ns: int | None = None

    @property
    def timed_by(self) -> Node:
        """The span whose times count: the innermost."""
        return self.nodes[-1]

    @property
    def span_id(self) -> str:
        return self.nodes[-1].span.span_id

    def key(self) -> tuple[int, int, str]:
        return (self.start, -self.end, self.nodes[-1].span.span_id)


class ToolDraft(Struct, kw_only=True, eq=False):
    """One tool call. ``nodes`` are its spans, outermost first; ``until`` is how long the agent waited."""

    nodes: list[Node]
    name: str
    start: int
    end: int
    scope: Scope | None = None
    inner: Scope | None = None
    asker: CallDraft | None = None
    until: int = 0
    abandoned: bool = False
    prefetched: bool = False

    @property
    def call_id(self) -> str | None:
        for node in self.nodes:
            if node.facts.tool_call_id:
                return node.facts.tool_call_id
        return None

    @property
    def span_id(self) -> str:
        return self.nodes[0].span.span_id

    def key(self) -> tuple[int, int, str]:
        return (self.start, -self.end, self.nodes[0].span.span_id)


class Scope(Struct, kw_only=True, eq=False):
    """Where "started last" holds: a run, a tool that holds model calls, or one of several branches.

    ``level`` is 0 for the run and rises with each sub-agent; ``background`` owns what nobody claims.
    """

    index: int
    level: int
    parent: Scope | None
    start: int
    end: int
    background: Owner = ORCHESTRATION
    background_span_id: str | None = None
    calls: list[CallDraft] = []
    tools: list[ToolDraft] = []
    branches: list[Scope] = []
    stages: list[Node] = []

    def release(self) -> None:
        """Cut the links between scope, calls and tools, as ``Tree.release`` does between nodes."""
        for call in self.calls:
            call.tools = []
        self.calls, self.tools, self.branches = [], [], []

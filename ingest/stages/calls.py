"""Which spans are one model call (docs/latency-model.md, "One call once").

Frameworks, clients and HTTP libraries each tell of the same call; some wrap several calls in a span that
looks like one; some write a model span for preparing a request.
"""

from __future__ import annotations

from msgspec.structs import replace

from ingest.semconv import Facts
from ingest.semconv.facts import AGENT, CALL, CHAIN, ENGINE, HTTP, OTHER, TOOL, WORKFLOW
from ingest.stages.drafts import CallDraft
from ingest.stages.tree import BEGINS_CALL, IN_CALL, Node

# Two siblings are one call where the overlap is this share of the longer one (in percent).
SAME_CALL_PERCENT = 80
# A span without any answer ends at most this long before the call that it prepared.
PREPARES_WITHIN_NS = 20_000_000
# No more libraries than this tell of one call beside each other.
MAX_TELLERS = 8
USAGE_SPAN_NS = 1_000_000
USAGE_WITHIN_NS = 50_000_000
_FACT_NAMES = tuple(name for name in Facts.__struct_fields__ if name not in ("kind", "first_tokens"))
# Facts in which two spans of one call cannot differ. Input tokens are none: some leave the cached ones out.
_TELL_APART = ("response_id", "output_tokens", "request_model", "response_model")
_UNTOLD = (None, False, ())
_BARRIERS = frozenset({TOOL, AGENT, WORKFLOW})


def find_calls(order: list[Node]) -> list[CallDraft]:
    """The calls under one root, given its nodes with parents before children."""
    _note_calls_above(order)
    made: list[CallDraft] = []
    inner: dict[Node, list[CallDraft]] = {}
    wrappers: set[Node] = set()
    holding: set[Node] = set()
    for node in reversed(order):
        if len(node.children) > 1:
            _merge_siblings(node)
        above = node.above
        if node.kind is CALL:
            _close_call(node, above, made, inner, wrappers)
        elif above is not None and node in holding and node.kind in (AGENT, WORKFLOW):
            wrappers.add(above)
        if node.parent is not None and node.kind is not TOOL and (node.kind is CALL or node in holding):
            holding.add(node.parent)
    found = _with_hints(order, [call for call in made if not call.dead])
    for call in found:
        call.nodes.reverse()  # they were found from the innermost out
        outermost = call.nodes[0]
        outermost.call = call
        call.told = outermost.facts if len(call.nodes) == 1 else merge_facts(call.nodes)
        for node in call.nodes:
            node.marks = IN_CALL
        outermost.marks |= BEGINS_CALL
    return found


def merge_facts(nodes: list[Node]) -> Facts:
    """What several spans of one call tell together; the innermost to know a fact wins."""
    told = nodes[-1].facts
    for other in (node.facts for node in reversed(nodes[:-1])):
        new = {
            name: theirs
            for name in _FACT_NAMES
            if getattr(told, name) in _UNTOLD and (theirs := getattr(other, name)) not in _UNTOLD
        }
        if new:
            told = replace(told, **new)
    return told


def _note_calls_above(order: list[Node]) -> None:
    """Note the nearest call above each node, without a tool or an agent between."""
    root = order[0]
    for node in order:
        parent = node.parent
        if parent is None or parent.kind in _BARRIERS:
            node.above = None
        elif parent.kind is CALL:
            node.above = parent
        else:
            node.above = None if node is root else parent.above


def _close_call(
    node: Node,
    above: Node | None,
    made: list[CallDraft],
    inner: dict[Node, list[CallDraft]],
    wrappers: set[Node],
) -> None:
    """Decide what a model span is, all spans below it being decided."""
    below = [group for group in inner.pop(node, []) if not group.dead]
    below.sort(key=lambda group: group.nodes[-1].key())
    if len(below) > 1 and all(group.nodes[0].facts.error for group in below[:-1]):
        below = [_as_attempts(below)]
    if node in wrappers or len(below) > 1:
        # A model span around several calls is a loop, its tokens are their sum.
        node.kind = CHAIN
        if above is not None:
            wrappers.add(above)
        return
    if below:
        group = below[0]
        group.nodes.append(node)
    else:
        group = CallDraft(nodes=[node])
        made.append(group)
    node.call = group
    if above is not None:
        inner.setdefault(above, []).append(group)


def _as_attempts(below: list[CallDraft]) -> CallDraft:
    """Failed attempts and the good one, told apart by spans of their own under one call's."""
    last = below[-1]
    last.failed_attempts += len(below) - 1
    last.failed += [group.timed_by for group in below[:-1]]
    for group in below[:-1]:
        group.dead = True
    return last


def _merge_siblings(parent: Node) -> None:
    """Join or drop model spans of one parent that tell of the same call."""
    before: Node | None = None
    for child in parent.children:
        if child.kind is CALL and before is not None and (first := before.call) and (second := child.call):
            if _prepares(before, child):
                first.dead = True
                before.call = None
                before.kind = OTHER
                before.warn("no_model_call", "a model span without any answer, right before a call; not counted")
            elif _are_few(first, second) and (_is_same(before, child) or _tells_usage(before, child)):
                first.nodes.extend(second.nodes)
                second.dead = True
                child.call = first
                _order_by_worth(first)
                child = before
        if child.kind is CALL or child.kind is TOOL:
            before = child if child.kind is CALL else None


def _are_few(one: CallDraft, other: CallDraft) -> bool:
    return len(one.nodes) + len(other.nodes) <= MAX_TELLERS


def _prepares(before: Node, child: Node) -> bool:
    facts = before.facts
    silent = (
        facts.output_tokens is None
        and not facts.asked
        and not facts.first_tokens
        and facts.finish_reason is None
        and facts.response_id is None
        and facts.error is None
    )
    answers = child.facts.finish_reason or child.facts.first_tokens or child.facts.output_tokens or child.facts.asked
    return (
        silent
        and bool(answers)
        and before.span.scope_name == child.span.scope_name
        and 0 <= child.start - before.end <= PREPARES_WITHIN_NS
        and before.end - before.start <= PREPARES_WITHIN_NS
    )


def _is_same(one: Node, other: Node) -> bool:
    """Two layers' spans of one call: of two libraries, or of one that names its layers differently."""
    overlap = min(one.end, other.end) - max(one.start, other.start)
    longer = max(one.end - one.start, other.end - other.start)
    if overlap * 100 <= longer * SAME_CALL_PERCENT:
        return False
    if one.span.scope_name == other.span.scope_name and one.span.name == other.span.name:
        return False
    if one.facts.response_id is not None and one.facts.response_id == other.facts.response_id:
        return True  # layers may count the tokens of one answer differently
    return not any(
        (mine := getattr(one.facts, fact)) is not None
        and (theirs := getattr(other.facts, fact)) is not None
        and mine != theirs
        for fact in _TELL_APART
    )


def _tells_usage(before: Node, child: Node) -> bool:
    """An empty span that only carries a finished call's token counts."""
    return (
        child.end - child.start < USAGE_SPAN_NS
        and child.facts.output_tokens is not None
        and before.facts.output_tokens is None
        and before.start <= child.start <= before.end + USAGE_WITHIN_NS
    )


def _order_by_worth(group: CallDraft) -> None:
    """Put first the span whose times shall count: who knows its first token, else the shortest not empty."""

    def worth(node: Node) -> tuple[bool, bool, int]:
        length = node.end - node.start
        return (not node.facts.first_tokens, length < USAGE_SPAN_NS, length)

    group.nodes.sort(key=worth)


def _with_hints(order: list[Node], found: list[CallDraft]) -> list[CallDraft]:
    """Attach engine and HTTP spans to their calls; an engine's span that nobody claims is a call itself."""
    for node in order:
        if node.kind is not ENGINE and node.kind is not HTTP:
            continue
        above = node.above
        group = above.call if above is not None else None
        if node.kind is HTTP:
            if group is not None and node.parent is not None and node.parent.kind is not HTTP:
                group.https.append(node)
        elif group is not None:
            group.engines.append(node)
        else:
            twin = found[-1] if found and found[-1].nodes[0] in found[-1].engines else None
            if twin is not None and _is_choice(twin.nodes[0], node):
                twin.engines.append(node)
            else:
                found.append(CallDraft(nodes=[node], engines=[node]))
    return found


def _is_choice(one: Node, other: Node) -> bool:
    """n > 1: an engine span for each choice of one request."""
    return (
        one.facts.response_id is not None
        and one.facts.response_id == other.facts.response_id
        and one.span.parent_span_id == other.span.parent_span_id
    )

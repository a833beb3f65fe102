"""The waterfall: which spans of a trace belong to a run, in which order, and what each row draws.

Columns and not rows, so that 100,000 spans are a few megabytes. Times are nanoseconds from the run's start; a row is
its place in the columns, parents before children.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.read.span_times import SpanTimes
from ingest.read.values import CallRow, RunDetail, ToolRow

from .bar import ORDER
from .rounds import labels
from .safetext import visible

GAPS = ("tool_parsing", "orchestration")
_OWNER = {owner: at for at, owner in enumerate(ORDER)}
_SHIFTED = re.compile(r"shifted by (-?\d+) ns")


def waterfall(run: RunDetail, spans: Mapping[str, SpanTimes], roots: Sequence[str] = ()) -> dict[str, Any]:
    """What ``waterfall-data.js`` reads. ``roots`` are those of the trace's runs, whose spans stay out."""
    shifts = _shifts(run)
    children, order = _tree(run, spans, set(roots) - {run.root_span_id}, shifts)
    rows = _Rows(run, spans, children, shifts)
    rows.add_all(order)
    return rows.columns() | {
        "run_id": run.run_id,
        "wall_ns": run.wall_ns,
        "start_unix_ns": str(run.start_unix_ns),
        "provisional": run.provisional,
        "owners": ORDER,
    }


def _shifts(run: RunDetail) -> dict[str, int]:
    """By span: how far its host's clock was put right, for it and what is below it."""
    told = ((w.span_id, _SHIFTED.search(w.text)) for w in run.warnings if w.code == "clock_skew" and w.span_id)
    return {span_id: int(found[1]) for span_id, found in told if span_id and found}


Order = tuple[list[str], list[int]]  # span ids and their depths, parents before children


def _tree(
    run: RunDetail, spans: Mapping[str, SpanTimes], foreign: set[str], shifts: Mapping[str, int]
) -> tuple[dict[str, list[str]], Order]:
    """Children by span, by start. Calls and tools that lie outside the run's tree (orphans that the decomposition gave
    to this run) stand below its root, with what is below them."""
    facts = {fact.span_id: fact.start_unix_ns for fact in (*run.calls, *run.tools)}
    starts = {span_id: span.start_unix_ns for span_id, span in spans.items()} | facts
    for span_id, by in shifts.items():
        if span_id in spans:
            starts[span_id] = spans[span_id].start_unix_ns + by
    children: dict[str, list[str]] = defaultdict(list)
    outside = foreign | {run.root_span_id}
    for _, span_id in sorted(zip(starts.values(), starts, strict=True)):
        span = spans.get(span_id)
        if span and (parent := span.parent_span_id) and span_id not in outside:
            children[parent].append(span_id)
    order = _in_order(run.root_span_id, children)
    reached = set(order[0])
    hung = len(children.get(run.root_span_id, ()))
    for span_id in sorted(facts.keys() - reached, key=facts.__getitem__):
        if span_id not in reached:
            children[run.root_span_id].append(span_id)
            reached.update(_in_order(span_id, children)[0])
    if not foreign and len(reached) < len(spans):
        _hang_strays(run.root_span_id, spans, children, reached)
    if len(children.get(run.root_span_id, ())) > hung:
        order = _in_order(run.root_span_id, children)
    return children, order


def _hang_strays(root: str, spans: Mapping[str, SpanTimes], children: dict[str, list[str]], reached: set[str]) -> None:
    """Spans below a parent that has not come, where the trace has no other run that they could be of: the parent gets a
    row of its own, since it is still open, or was lost."""
    for span_id in sorted(spans.keys() - reached, key=lambda span_id: spans[span_id].start_unix_ns):
        parent = spans[span_id].parent_span_id
        if parent and parent not in spans and parent not in reached:
            children[root].append(parent)
            reached.add(parent)


def _in_order(top: str, children: Mapping[str, list[str]]) -> Order:
    """Parents before children; without recursion, and each span once, whatever cycles were sent."""
    seen: set[str] = set()
    ids: list[str] = []
    depths: list[int] = []
    open_ = [iter((top,))]  # of each level what is still to come
    while open_:
        for span_id in open_[-1]:
            if span_id not in seen:
                seen.add(span_id)
                ids.append(span_id)
                depths.append(len(open_) - 1)
                if span_id in children:
                    open_.append(iter(children[span_id]))
                    break
        else:
            open_.pop()
    return ids, depths


class _Rows:
    """The columns, as they grow. ``to`` is told as the length; ``raw`` names the rows whose spans were sent with other
    times than those shown, ``open`` those whose spans have not come."""

    def __init__(
        self,
        run: RunDetail,
        spans: Mapping[str, SpanTimes],
        children: Mapping[str, list[str]],
        shifts: Mapping[str, int],
    ) -> None:
        self.run, self.spans, self.children, self.shifts = run, spans, children, shifts
        self.facts: dict[str, CallRow | ToolRow] = {call.span_id: call for call in run.calls}
        self.facts.update({tool.span_id: tool for tool in run.tools})
        self.origin = run.start_unix_ns
        self.labels = labels(run.calls)
        self.names: dict[str, int] = {}
        self.ids: list[str] = []
        self.depth: list[int] = []
        self.start: list[int] = []
        self.length: list[int] = []
        self.name: list[int] = []
        self.span_name: list[int] = []
        self.kinds: list[str] = []
        self.failed: list[int] = []
        self.told: list[list[Any]] = []
        self.notes: list[list[Any]] = []
        self.raw: list[list[int]] = []
        self.open: list[int] = []
        self.shift: list[int] = []  # of those above and of the row itself, by depth

    def add_all(self, order: Order) -> None:
        """One row for each; parents come before their children."""
        self.ids, self.depth = order
        spans, facts, names, root = self.spans, self.facts, self.names, self.run.root_span_id
        name_, span_name, kinds = self.name.append, self.span_name.append, self.kinds.append
        for row, span_id in enumerate(self.ids):
            span, fact = spans.get(span_id), facts.get(span_id)
            self._lay(row, span_id, fact, span)
            name, failed = (span.name, span.failed) if span else ("", False)
            if fact is None:
                title = name
                kinds("a" if span_id == root else "s")
            else:
                told, kind, fact_failed = self._describe(row, fact)
                title, failed = told or name, failed or fact_failed
                kinds(kind)
            title = title or ("unnamed span" if span else "not seen yet")
            name_(names.setdefault(title, len(names)))
            span_name(names.setdefault(name, len(names)) if name and name != title else -1)
            if failed:
                self.failed.append(row)

    def _describe(self, row: int, fact: CallRow | ToolRow) -> tuple[str | None, str, bool]:
        """Title and kind of a call or tool, and whether it failed; what else is to be said of it is noted."""
        if isinstance(fact, CallRow):
            if fact.attempts > 1:
                self.notes.append([row, _note(fact)])
            self._call(row, fact)
            return fact.model, "c", fact.error is not None
        if fact.attempts > 1 or fact.abandoned or fact.ok is False:
            self.notes.append([row, _note(fact)])
        return fact.name, "a" if fact.agent else "t", fact.ok is False or fact.error is not None

    def _lay(self, row: int, span_id: str, fact: CallRow | ToolRow | None, span: SpanTimes | None) -> None:
        origin = self.origin
        shift = self._shifted(self.depth[row], span_id) if self.shifts else 0
        if span is not None:
            sent_ns, end_ns = span.start_unix_ns, span.end_unix_ns
            sent_start, sent_length = sent_ns - origin, end_ns - sent_ns if end_ns > sent_ns else 0
        if fact is not None:
            start, length = fact.start_unix_ns - origin, fact.wall_ns
        elif span is not None:
            start, length = sent_start + shift, sent_length
        else:
            start, length = self._around(span_id)
            self.open.append(row)
        self.start.append(start)
        self.length.append(length)
        if span is not None and (sent_start != start or sent_length != length):
            self.raw.append([row, sent_start, sent_length])

    def _shifted(self, depth: int, span_id: str) -> int:
        del self.shift[depth:]
        shift = (self.shift[-1] if self.shift else 0) + self.shifts.get(span_id, 0)
        self.shift.append(shift)
        return shift

    def _around(self, span_id: str) -> tuple[int, int]:
        """Of a span that has not come: the whole run of its root, else from the first to the last of what it holds."""
        held = [self.spans[child] for child in self.children.get(span_id, ()) if child in self.spans]
        if span_id == self.run.root_span_id or not held:
            return 0, self.run.wall_ns
        start = min(span.start_unix_ns for span in held)
        return start - self.run.start_unix_ns, max(span.end_unix_ns for span in held) - start

    def _call(self, row: int, call: CallRow) -> None:
        """Its round, its first token, whether it is an estimate, and its own time as owner, length, …"""
        first = None if call.first_token_unix_ns is None else call.first_token_unix_ns - self.run.start_unix_ns
        parts = [told for owner, ns in call_parts(call) for told in (_OWNER[owner], ns)]
        self.told.append([row, self.labels[call.span_id], first, int(call.source == "estimated"), parts])

    def columns(self) -> dict[str, Any]:
        return {
            "names": [visible(name) for name in self.names], "ids": "".join(self.ids), "depth": self.depth,
            "from": self.start, "length": self.length, "name": self.name, "span_name": self.span_name,
            "kinds": "".join(self.kinds), "failed": self.failed, "calls": self.told, "notes": self.notes,
            "raw": self.raw, "open": self.open, "phases": self._phases(),
        }  # fmt: skip

    def _phases(self) -> list[int]:
        """Owner, length, row and whether it is a guess, flat; they tile the run. A gap stands in the row that ended
        it; the last one, which nothing ended, in the run's own."""
        rows: dict[str | None, int] = {span_id: row for row, span_id in enumerate(self.ids)}
        flat: list[int] = []
        ended_by = 0
        for phase in reversed(self.run.phases):
            owner = phase.owner
            if owner not in GAPS:
                ended_by = rows.get(phase.span_id, 0)
            # Backwards: the whole list is turned round at the end.
            flat += (int(phase.source == "estimated"), ended_by, phase.end_ns - phase.start_ns, _OWNER[owner])
        flat.reverse()
        return flat


def _note(fact: CallRow | ToolRow) -> str:
    words = [f"{fact.attempts} attempts"] if fact.attempts > 1 else []
    if isinstance(fact, ToolRow) and (fact.abandoned or fact.ok is False):
        words.append("abandoned" if fact.abandoned else "failed")
    return ", ".join(words)


def call_parts(call: CallRow) -> list[tuple[str, int]]:
    """A call's own time in the order in which it passes, whoever waited for it; what its figures do not tell is
    unsplit."""
    again = call.carries_tool_results
    known = [
        ("transport", call.transport_ns),
        ("queue", call.queue_ns),
        ("re_encoding" if again else "prefill", call.prefill_ns),
        ("continue_decode" if again else "decode", call.decode_ns),
    ]
    parts = [(owner, ns) for owner, ns in known if ns]
    rest = call.wall_ns - sum(ns for _, ns in parts)
    return [*parts, ("model_unsplit", rest)] if rest > 0 else parts

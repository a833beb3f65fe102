"""The panel beside the waterfall: what is known of one span, with what it brought."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.figures import Figure, count, duration, exact, exact_together, percent, share_of, size
from ingest.read.values import CallPlace, CallRow, RunDetail, SpanRow, ToolRow
from ingest.semconv.templates import MESSAGE, has_holes

from .bar import LABELS, Segment, css_name, segments_of
from .rounds import Asking, labels
from .safetext import as_text, visible
from .waterfall import call_parts

LONG = 80  # characters from which a value is folded
FOLDED_LIMIT = 20_000  # characters of a folded value that come with the panel
PANEL_LIMIT = 100_000  # of all of them together; what is beyond comes when it is unfolded
PIECE = 1_000_000  # characters of a long value that come at once
# What people look for first: what the span was given, then what came of it.
INPUTS = re.compile(r"input|prompt|arguments|parameters|args|request_data|question", re.IGNORECASE)
OUTPUTS = re.compile(r"output|completion|result|response|answer|return", re.IGNORECASE)
KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    label: str
    value: Figure
    css: str = ""
    source: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """An attribute. ``cut`` says that ``text`` is only its beginning, of ``length`` characters."""

    key: str
    text: str
    size: Figure
    length: int = 0
    cut: bool = False

    @property
    def role(self) -> str:
        """``input``, ``output`` or nothing, by its key."""
        word = self.key.rpartition("gen_ai.")[2]
        return "input" if INPUTS.search(word) else "output" if OUTPUTS.search(word) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    title: str
    span_id: str
    start_unix_ns: int
    status: tuple[str, str] | None = None
    about: list[str] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)
    split: list[Pair] = field(default_factory=list)
    facts: list[Pair] = field(default_factory=list)
    short: list[Value] = field(default_factory=list)
    folded: list[Value] = field(default_factory=list)
    events: list[Value] = field(default_factory=list)
    resource: list[Value] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stored: bool = True


def panel(run: RunDetail, span_id: str, span: SpanRow | None, places: Sequence[CallPlace]) -> Panel | None:
    """None where neither the store nor the run knows the span. Of the run only what is of the span is asked;
    ``places`` are those of all of its calls."""
    call = next((c for c in run.calls if c.span_id == span_id), None)
    tool = next((t for t in run.tools if t.span_id == span_id), None)
    fact = call or tool
    if span is None and fact is None and span_id != run.root_span_id:
        return None
    segments, split = _call_split(run, call) if call else ([], [])
    short, folded = _values(_attributes(span))
    name = (call.model if call else tool.name if tool else None) or (_name(span) if span else run.name)
    return Panel(
        title=visible(name or "unnamed span"),
        span_id=span_id,
        start_unix_ns=fact.start_unix_ns if fact else span.start_unix_ns if span else run.start_unix_ns,
        status=_status(call, tool, span),
        about=_about(run, call, tool, span, places),
        segments=segments,
        split=split,
        facts=_call_facts(call) if call else _tool_facts(tool) if tool else _span_facts(run, span_id, span),
        short=short,
        folded=folded,
        events=_values(_events(span), fold=False)[0],
        resource=_values((span.resource or {}).items(), fold=False)[0] if span else [],
        warnings=[visible(w.text) for w in run.warnings if w.span_id == span_id],
        stored=span is not None,
    )


def whole_value(span: SpanRow | None, key: str, wide: int = LONG) -> str | None:
    """All of one attribute as text, for the reader who asked for it."""
    return next((as_text(value, wide) for name, value in [*_attributes(span), *_events(span)] if name == key), None)


def _status(call: CallRow | None, tool: ToolRow | None, span: SpanRow | None) -> tuple[str, str] | None:
    if tool and tool.abandoned:
        return "warn", "Abandoned: the agent went on without its result"
    error = (call.error if call else tool.error if tool else None) or (
        span.status_message if span and span.status == 2 else None
    )
    if error or (tool and tool.ok is False) or (span and span.status == 2):
        return "bad", f"Failed: {visible(error)}" if error else "Failed"
    return None


def _about(
    run: RunDetail, call: CallRow | None, tool: ToolRow | None, span: SpanRow | None, places: Sequence[CallPlace]
) -> list[str]:
    asking: CallRow | CallPlace | None = call or (Asking(places).call(tool) if tool else None)
    words = [f"round {labels(places)[asking.span_id]}"] if asking else []
    if call and call.engine:
        words.append(call.engine)
    if span and not fact_names(call, tool, span.name):
        words.append(visible(_name(span)))
    if span and span.service and span.service != run.service:
        words.append(visible(span.service))
    return words


def _name(span: SpanRow) -> str:
    """As its row in the waterfall has it."""
    filled = (span.attributes or {}).get(MESSAGE) if has_holes(span.name) else None
    return filled if isinstance(filled, str) and filled else span.name


def fact_names(call: CallRow | None, tool: ToolRow | None, name: str) -> bool:
    """Whether the title says the span's name already."""
    return not (call or tool) or (tool is not None and tool.name == name)


def _call_split(run: RunDetail, call: CallRow) -> tuple[list[Segment], list[Pair]]:
    """The call in the order of time. Where its whole time is the run's, the run's own phases say it exactly."""
    phases = [
        p
        for p in run.phases
        if p.span_id == call.span_id and p.owner in LABELS and p.owner not in ("tool_parsing", "orchestration")
    ]
    if sum(p.end_ns - p.start_ns for p in phases) == call.wall_ns:
        amounts: Counter[str] = Counter()
        sources: dict[str, Counter[str]] = {}
        for p in phases:
            amounts[p.owner] += p.end_ns - p.start_ns
            sources.setdefault(p.owner, Counter())[p.source] += p.end_ns - p.start_ns
        parts = list(amounts.items())
        by_source: Mapping[str, Mapping[str, int]] = sources
    else:
        parts = call_parts(call)
        by_source = {owner: {"unknown" if owner == "model_unsplit" else call.source: ns} for owner, ns in parts}
    weakest = {owner: max(found, key=found.__getitem__) for owner, found in by_source.items()}
    drawn = segments_of(parts, weakest, by_source)
    figures = exact_together([s.ns for s in drawn], call.wall_ns)
    pairs = [
        Pair(label=s.label, css=css_name(s.stage), value=f, source=s.source)
        for s, f in zip(drawn, figures, strict=True)
    ]
    return drawn, [*pairs, Pair(label="Call", value=exact(call.wall_ns))]


def _call_facts(call: CallRow) -> list[Pair]:
    share = share_of(call.cached_tokens, call.input_tokens)
    return [
        Pair(
            label="Time to first token",
            value=exact(call.ttft_ns),
            source=call.source if call.ttft_ns is not None else "unknown",
        ),
        Pair(
            label="Time per output token",
            value=duration(call.tpot_ns),
            source="derived" if call.tpot_ns is not None else None,
        ),
        Pair(
            label="Prompt from cache",
            value=percent(share),
            note=f"of {count(call.input_tokens)}" if share is not None else "",
        ),
        Pair(label="Tokens in", value=count(call.input_tokens)),
        Pair(label="Tokens out", value=count(call.output_tokens), note=call.finish_reason or ""),
        *([Pair(label="Attempts", value=count(call.attempts))] if call.attempts > 1 else []),
        *(
            [Pair(label="Streamed", value=Figure("yes" if call.streamed else "no"))]
            if call.streamed is not None
            else []
        ),
    ]


def _tool_facts(tool: ToolRow) -> list[Pair]:
    outcome = {True: "ok", False: "failed", None: "unknown"}[tool.ok]
    return [
        Pair(label="Tool execution", css="tool-execution", value=exact(tool.wall_ns), source="client"),
        *([Pair(label="of it transport", value=exact(tool.transport_ns))] if tool.transport_ns is not None else []),
        Pair(label="Outcome", value=Figure(outcome)),
        *([Pair(label="Attempts", value=count(tool.attempts))] if tool.attempts > 1 else []),
    ]


def _span_facts(run: RunDetail, span_id: str, span: SpanRow | None) -> list[Pair]:
    if span_id == run.root_span_id:
        return [Pair(label="The run’s wall time", value=exact(run.wall_ns))]
    if span is None:
        return []
    facts = [Pair(label="Duration", value=exact(max(0, span.end_unix_ns - span.start_unix_ns)))]
    return facts + ([Pair(label="Kind", value=Figure(KINDS[span.kind]))] if span.kind in KINDS else [])


def _attributes(span: SpanRow | None) -> Iterable[tuple[str, Any]]:
    return sorted((span.attributes or {}).items()) if span else []


def _events(span: SpanRow | None) -> Iterable[tuple[str, Any]]:
    """By number and name, with their moment from the span's start."""
    for number, event in enumerate((span.events or []) if span else [], 1):
        after = duration(int(event["unix_ns"]) - span.start_unix_ns) if span else ""
        yield f"{number}: {event['name']}", {"after": str(after), **event["attributes"]}


def _values(brought: Iterable[tuple[str, Any]], *, fold: bool = True) -> tuple[list[Value], list[Value]]:
    short, folded = [], []
    room = PANEL_LIMIT
    for key, value in brought:
        text = as_text(value, wide=LONG)
        long = fold and (len(text) > LONG or "\n" in text)
        limit = min(FOLDED_LIMIT, room)
        shown = Value(
            key=key,
            text=text[:limit],
            length=len(text),
            cut=len(text) > limit,
            size=size(len(text.encode(errors="replace"))),
        )
        room -= len(shown.text)
        (folded if long else short).append(shown)
    folded.sort(key=lambda value: ("input", "output", "").index(value.role))
    return short, folded

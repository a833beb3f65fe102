"""GenAI events that come as log records: messages, tool arguments and finish reasons, completing the span they name.

As an event of its span a record reads like those that older generations write there: what its body holds (a map)
stands among the attributes. Only the span itself says when it began and ended, and what it says itself wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ingest.semconv.facts import Told
from ingest.semconv.messages import ends_in_tool_results
from ingest.semconv.values import first_text, tell, text, whole
from ingest.spans import Attributes, AttributeValue, Event, LogEvent, Span

PREFIX = "gen_ai."
CHOICE = "gen_ai.choice"
TOOL_MESSAGE = "gen_ai.tool.message"
INPUT = "gen_ai.input.messages"
DETAILS = "gen_ai.client.inference.operation.details"
CHOICE_ROWS = (("finish_reason", "finish_reason", text),)
# What the details of an operation may tell that its span leaves out.
DETAIL_ROWS = (
    ("response_model", "gen_ai.response.model", text),
    ("response_id", "gen_ai.response.id", text),
    ("input_tokens", "gen_ai.usage.input_tokens", whole),
    ("output_tokens", "gen_ai.usage.output_tokens", whole),
    ("cached_tokens", "gen_ai.usage.cache_read.input_tokens", whole),
    ("finish_reason", "gen_ai.response.finish_reasons", first_text),
)


def as_event(name: str, unix_ns: int, attributes: Attributes, body: AttributeValue) -> Event | None:
    """A log record as an event of its span; None where it is no GenAI event."""
    name = name or text(attributes.get("event.name")) or ""
    if not name.startswith(PREFIX):
        return None
    if isinstance(body, dict):
        attributes = {**body, **attributes}
    elif body:
        attributes = {"content": body, **attributes}
    return Event(name=name, unix_ns=unix_ns, attributes=attributes)


def with_log_events(spans: Sequence[Span], told: Iterable[LogEvent]) -> list[Span]:
    """The spans, each with the events that name it after its own, by time. A record of another trace's span is none."""
    events: dict[str, dict[tuple[int, str, str], Event]] = defaultdict(dict)
    for one in told:
        event = one.event
        events[one.span_id][event.unix_ns, event.name, repr(event.attributes)] = event  # sent twice, told once
    return [_completed(span, events[span.span_id].values()) if span.span_id in events else span for span in spans]


def _completed(span: Span, events: Iterable[Event]) -> Span:
    # Only by time: clocks are coarse, and of one instant the order in which they were sent tells.
    return replace(span, events=(*span.events, *sorted(events, key=lambda event: event.unix_ns)))


def facts(span: Span) -> Told | None:
    """What a span's events tell of its call beside the messages, which gen_ai reads.

    Details of several operations are none of the span's own: some emitters name the agent's span around them.
    """
    told: Told = {}
    details = [event for event in span.events if event.name == DETAILS]
    if len(details) == 1:
        tell(told, details[0].attributes, DETAIL_ROWS)
    for event in span.events:
        if event.name == CHOICE:
            tell(told, event.attributes, CHOICE_ROWS)
    return told or None


def input_ends_in_tool_results(span: Span) -> bool | None:
    """Whether the last message before the answer is a tool's result; None where no event shows any."""
    told: bool | None = None
    for event in span.events:
        if event.name == DETAILS and INPUT in event.attributes:
            told = ends_in_tool_results(event.attributes[INPUT])
        elif event.name.startswith(PREFIX) and event.name.endswith(".message"):
            told = event.name == TOOL_MESSAGE
    return told

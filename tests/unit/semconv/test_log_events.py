"""GenAI events that come as log records complete the spans they name."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.semconv import Facts, Kind, read_facts
from ingest.semconv.log_events import as_event, with_log_events
from ingest.semconv.read import brings_tool_results
from ingest.spans import LogEvent, Span
from tests.captures import captures, read_json
from tests.unit.semconv.telling import NOON, span

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
DETAILS = "gen_ai.client.inference.operation.details"


def logged(name: str, body: Any = None, at: int = NOON, span_id: str = "b" * 16, **attributes: Any) -> LogEvent:
    event = as_event(name, at, attributes, body)
    assert event is not None
    return LogEvent(span_id=span_id, event=event)


def completed(*events: LogEvent, **attributes: Any) -> Span:
    (whole,) = with_log_events([span(attributes={**CHAT, **attributes})], events)
    return whole


def told(*events: LogEvent, **attributes: Any) -> Facts:
    return read_facts(completed(*events, **attributes))


def test_a_choice_tells_what_was_asked_for_and_how_it_ended() -> None:
    facts = told(logged("gen_ai.choice", {"finish_reason": "tool_calls", "message": {"tool_calls": [CALL]}}))
    assert [(asked.name, asked.call_id) for asked in facts.asked or ()] == [("search", "c1")]
    assert facts.finish_reason == "tool_calls"


def test_so_it_does_where_arguments_are_kept_back() -> None:
    bare = {"id": "c1", "type": "function", "function": {"name": "search"}}
    facts = told(logged("gen_ai.choice", {"message": {"tool_calls": [bare]}}))
    assert [asked.name for asked in facts.asked or ()] == ["search"]


def test_what_the_span_says_itself_wins() -> None:
    facts = told(
        logged("gen_ai.choice", {"finish_reason": "stop"}), **{"gen_ai.response.finish_reasons": ["tool_calls"]}
    )
    assert facts.finish_reason == "tool_calls"


def test_an_operations_details_fill_what_the_span_leaves_out() -> None:
    output = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {}}]}]
    facts = told(
        logged(
            DETAILS,
            **{
                "gen_ai.output.messages": output,
                "gen_ai.usage.output_tokens": 24,
                "gen_ai.response.id": "r1",
                "gen_ai.response.finish_reasons": ["tool_call"],
            },
        )
    )
    assert [asked.name for asked in facts.asked or ()] == ["search"]
    assert (facts.output_tokens, facts.response_id, facts.finish_reason) == (24, "r1", "tool_call")


def test_details_of_several_operations_are_none_of_the_span_around_them() -> None:
    facts = told(*(logged(DETAILS, at=NOON + n, **{"gen_ai.usage.output_tokens": n}) for n in (1, 2)))
    assert facts.output_tokens is None


@pytest.mark.parametrize(
    ("events", "brings"),
    [
        ([], None),
        ([logged("gen_ai.user.message", {"content": "hi"})], False),
        ([logged("gen_ai.user.message", at=NOON), logged("gen_ai.tool.message", at=NOON + 1)], True),
        ([logged("gen_ai.tool.message", at=NOON + 1), logged("gen_ai.user.message", at=NOON)], True),
        ([logged("gen_ai.user.message"), logged("gen_ai.tool.message")], True),  # of one instant, by their order
        ([logged("gen_ai.tool.message"), logged("gen_ai.user.message")], False),
        ([logged(DETAILS, **{"gen_ai.input.messages": [{"role": "tool", "parts": []}]})], True),
        ([logged(DETAILS, **{"gen_ai.input.messages": [{"role": "user", "parts": []}]})], False),
    ],
)
def test_messages_tell_whether_tool_results_are_brought(events: list[LogEvent], brings: bool | None) -> None:
    assert brings_tool_results(completed(*events)) is brings


def test_a_record_that_comes_twice_is_told_once() -> None:
    assert len(completed(logged("gen_ai.choice", {"index": 0}), logged("gen_ai.choice", {"index": 0})).events) == 1


def test_a_record_of_a_span_that_is_not_there_changes_nothing() -> None:
    one = span(attributes=CHAT)
    assert with_log_events([one], [logged("gen_ai.choice", span_id="c" * 16)]) == [one]


@pytest.mark.parametrize(
    ("name", "attributes", "kept"),
    [
        ("gen_ai.choice", {}, True),
        ("", {"event.name": "gen_ai.choice"}, True),
        ("", {}, False),
        ("device.crash", {}, False),
        ("", {"event.name": 7}, False),
    ],
)
def test_only_genai_events_are_taken(name: str, attributes: dict[str, Any], kept: bool) -> None:
    assert (as_event(name, NOON, attributes, "words") is not None) is kept


def test_a_body_of_words_is_the_content() -> None:
    event = as_event("gen_ai.user.message", NOON, {}, "hi")
    assert event is not None
    assert event.attributes == {"content": "hi"}


WITH_LOGS = [capture for capture in captures("corpus") if (capture.folder / "logs.json").exists()]


@pytest.mark.parametrize("capture", WITH_LOGS, ids=lambda capture: capture.name)
def test_the_captures_logs_tell_which_calls_ask_for_tools_and_bring_results(capture: Any) -> None:
    records = read_json(capture.folder / "logs.json")
    events = [
        logged(r["event_name"], r["body"], r["time_ns"] or r["observed_ns"], r["span_id"], **r["attributes"])
        for r in records
    ]
    spans = [span(span_id=s["span_id"], attributes=s["attributes"]) for s in capture.spans]
    whole = {one.span_id: one for one in with_log_events(spans, events)}
    truth = [call for call in read_json(capture.folder / "truth.json")["llm_calls"] if call["status"] == 200]
    named = [whole[span_id] for span_id in dict.fromkeys(e.span_id for e in events) if span_id in whole]
    told = [one for one in named if read_facts(one).kind is Kind.CALL]
    truth = truth if told else []  # openlit names the span around its calls

    assert [bool(read_facts(one).asked) for one in told] == [bool(call["emits_tool_calls"]) for call in truth]
    assert [brings_tool_results(one) for one in told] == [call["carries_tool_results"] for call in truth]

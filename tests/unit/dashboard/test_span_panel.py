"""The side panel: a call in the order of time, and texts that somebody sent."""

from dashboard.pages.parts.safetext import as_text
from dashboard.pages.parts.span_panel import Panel, panel, whole_value
from ingest.read.values import CallPlace, SpanRow
from tests.unit.dashboard.drawn import span, two_rounds


def shown_of(span_id: str, stored: SpanRow | None) -> Panel | None:
    run = two_rounds()
    places = [
        CallPlace(span_id=c.span_id, round=c.round, scope=c.scope, start_unix_ns=c.start_unix_ns) for c in run.calls
    ]
    return panel(run, span_id, stored, places)


def test_a_call_s_parts_add_up_to_the_call() -> None:
    shown = shown_of("c1", span("c1", "root", 10, 210))
    assert shown
    assert [(p.label, p.value.value) for p in shown.split] == [
        ("Prefill", "100.000"),
        ("Decode", "100.000"),
        ("Call", "200.000"),
    ]


def test_long_texts_are_folded_and_only_their_beginning_comes() -> None:
    brought = span(
        "c1",
        "root",
        10,
        210,
        attributes={"prompt": "x" * 50_000, "model": "tiny"},
        events=[],
        resource={"service.name": "shop"},
    )
    shown = shown_of("c1", brought)
    assert shown
    assert [(v.key, len(v.text), v.cut) for v in shown.folded] == [("prompt", 20_000, True)]
    assert [v.key for v in shown.short] == ["model"]
    assert whole_value(brought, "prompt") == "x" * 50_000


def test_json_is_laid_out_and_unicode_shown() -> None:
    assert as_text('[{"content":"Grüße, 你好"}]') == '[\n  {\n    "content": "Grüße, 你好"\n  }\n]'
    assert as_text('{"broken"') == '{"broken"'
    assert as_text(["stop"], wide=80) == '["stop"]'


def test_a_span_that_is_not_stored_is_shown_from_what_the_run_knows() -> None:
    shown = shown_of("t1", None)
    assert shown
    assert not shown.stored
    assert shown_of("nothing", None) is None


def test_a_tool_is_of_the_round_that_asked_for_it() -> None:
    shown = shown_of("t1", None)
    assert shown
    assert shown.about[0] == "round 1"

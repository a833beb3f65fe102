"""First-token claims that cannot be true are set aside with a warning, never believed, never zero."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ingest.spans import Event, Span
from ingest.stages import Run, Source, decompose
from tests.unit.stages.drawing import MS, at, codes, draw, only_run, stages


def told(attributes: dict[str, Any] | None = None, **changes: Any) -> Run:
    span = draw("chat 0 1000 call")[0]
    span = replace(span, attributes={**span.attributes, **(attributes or {})}, **changes)
    return decompose([span]).runs[0]


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("gen_ai.response.time_to_first_chunk", 0.3),
        ("gen_ai.client.operation.time_to_first_chunk", 0.3),
        ("gen_ai.server.time_to_first_token", 0.3),
        ("gen_ai.server.time_to_first_token", 300),
        ("gen_ai.response.time_to_first_token", 0.3),
        ("gen_ai.response.time_to_first_token", 300_000),
        ("gen_ai.response.time_to_first_chunk", "0.3"),
    ],
)
def test_it_reads_each_unit(attribute: str, value: object) -> None:
    run = told({attribute: value})
    assert run.calls[0].ttft_ns == 300 * MS
    assert run.calls[0].source is Source.CLIENT


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ({"gen_ai.response.time_to_first_chunk": 1.0}, "first_token_at_end"),
        ({"gen_ai.response.time_to_first_chunk": 0.98}, "first_token_at_end"),
        ({"gen_ai.response.time_to_first_chunk": 1.2}, "first_token_outside"),
        ({"gen_ai.response.time_to_first_chunk": 0}, "first_token_outside"),
        (
            {"gen_ai.response.time_to_first_chunk": 0.04, "gen_ai.response.id": "resp_1"},
            "first_token_is_chunk",
        ),
        (
            {"gen_ai.server.time_to_first_token": 0.5, "gen_ai.request.stream": False},
            "first_token_not_streamed",
        ),
        (
            {"gen_ai.server.time_to_first_token": 0.95, "gen_ai.usage.output_tokens": 5000},
            "first_token_rate",
        ),
    ],
)
def test_it_doubts(attributes: dict[str, Any], code: str) -> None:
    run = told(attributes)
    assert codes(run) == [code]
    assert run.calls[0].ttft_ns is None
    assert stages(run) == {"model_unsplit": 1000}


def test_the_only_token_may_come_at_the_end() -> None:
    run = told({"gen_ai.response.time_to_first_chunk": 0.99, "gen_ai.usage.output_tokens": 1})
    assert run.calls[0].ttft_ns == 990 * MS


def test_the_next_best_claim_is_asked() -> None:
    run = told({"gen_ai.server.time_to_first_token": 1.0, "gen_ai.response.time_to_first_chunk": 0.3})
    assert (codes(run), run.calls[0].ttft_ns) == (["first_token_at_end"], 300 * MS)


def chunks(*ms: int) -> tuple[Event, ...]:
    return tuple(Event(name="gen_ai.content.completion.chunk", unix_ns=at(one)) for one in ms)


def test_the_first_chunk_event_is_the_first_token() -> None:
    assert told(events=chunks(310, 320, 330)).calls[0].ttft_ns == 310 * MS


def test_the_first_chunk_left_after_dropped_ones_is_not() -> None:
    run = told(events=chunks(710, 720, 730), dropped_events=40)
    assert (codes(run), run.calls[0].source) == (["first_chunks_dropped"], Source.UNKNOWN)


def with_http(end: int, ttft: float | None = None) -> Run:
    spans: list[Span] = draw(f"""
        chat     0 1000  call
          post   5 {end}  http
    """)
    if ttft is not None:
        spans[0] = replace(spans[0], attributes={**spans[0].attributes, "gen_ai.server.time_to_first_token": ttft})
    return decompose(spans).runs[0]


def test_a_streams_headers_are_a_hint() -> None:
    run = with_http(300)
    assert (run.calls[0].ttft_ns, run.calls[0].source) == (300 * MS, Source.DERIVED)
    assert codes(run) == ["first_token_from_http"]


def test_headers_sent_at_once_are_none() -> None:
    assert with_http(20).calls[0].source is Source.UNKNOWN


def test_an_http_span_as_long_as_the_call_is_none() -> None:
    assert with_http(995).calls[0].source is Source.UNKNOWN


def test_a_first_token_long_before_the_headers_is_doubted() -> None:
    run = with_http(300, ttft=0.002)
    assert codes(run) == ["first_token_before_response", "first_token_from_http"]


def test_a_plausible_claim_is_believed_beside_an_http_span() -> None:
    assert with_http(995, ttft=0.2).calls[0].ttft_ns == 200 * MS


def test_a_span_closed_before_its_first_token_ends_with_the_step_around_it() -> None:
    run = only_run("""
        run         0 200  agent
          step     10 110  chain
            chat   20  25  call  first=60
          search  115 150  tool
    """)
    assert (run.calls[0].source, run.calls[0].wall_ns) == (Source.DERIVED, 90 * MS)
    assert stages(run)["decode"] == 50
    assert codes(run) == ["closed_early"]

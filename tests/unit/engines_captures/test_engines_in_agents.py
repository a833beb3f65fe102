"""A real vLLM's spans inside the runs of the agents that it served."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.semconv import read_facts
from ingest.stages import Call, Run, Source, Stage, decompose
from tests.unit.engines_captures.recorded import RUNS, requests, spans, truths, with_their_agent

JOINED = [
    pytest.param(run, told, id=f"{run}-{told['session']}-{told['turn']}")
    for run in RUNS
    for told in truths(run)
    if told["label"] != "D-n2" and any(span.trace_id == told["trace_id"] for span in requests(run))
]


def _labelled(run: str, label: str) -> dict[str, Any]:
    (told,) = [told for told in truths(run) if told["label"] == label]
    return told


def _only_run(run: str, told: dict[str, Any]) -> Run:
    (found,) = decompose(with_their_agent(told, spans(run))).runs
    return found


def _only_call(run: str, told: dict[str, Any]) -> Call:
    (call,) = _only_run(run, told).calls
    return call


@pytest.mark.parametrize(("run", "told"), JOINED)
def test_the_engine_is_the_source_and_transport_the_rest(run: str, told: dict[str, Any]) -> None:
    found = _only_run(run, told)
    (call,) = found.calls
    (span,) = [span for span in requests(run) if span.trace_id == told["trace_id"]]
    times = read_facts(span).engine
    assert times
    assert times.e2e_ns
    assert times.ttft_ns
    assert times.prefill_ns

    assert call.source is Source.ENGINE
    assert found.breakdown.sources[Stage.PREFILL] is Source.ENGINE
    assert found.breakdown.sources[Stage.DECODE] is Source.ENGINE
    assert call.transport_ns == call.wall_ns - times.e2e_ns
    assert (call.queue_ns, call.prefill_ns) == (times.ttft_ns - times.prefill_ns, times.prefill_ns)
    assert call.decode_ns == times.e2e_ns - times.ttft_ns


@pytest.mark.parametrize(("run", "told"), JOINED)
def test_the_engine_tells_the_tokens_that_the_client_does_not(run: str, told: dict[str, Any]) -> None:
    call = _only_call(run, told)

    assert (call.input_tokens, call.output_tokens) == (
        told["usage"]["prompt_tokens"],
        told["usage"]["completion_tokens"],
    )


@pytest.mark.parametrize("run", RUNS)
def test_two_choices_are_one_call(run: str) -> None:
    told = _labelled(run, "D-n2")
    told_twice = [span for span in requests(run) if span.trace_id == told["trace_id"]]

    call = _only_call(run, told)

    assert len(told_twice) == 2
    assert call.source is Source.ENGINE
    assert call.attempts == 1


@pytest.mark.parametrize("run", RUNS)
def test_two_choices_count_the_prompt_once_and_both_outputs_with_and_without_their_client(run: str) -> None:
    told = _labelled(run, "D-n2")
    usage = told["usage"]

    (alone,) = decompose([span for span in requests(run) if span.trace_id == told["trace_id"]]).runs

    for found in (alone, _only_run(run, told)):
        tokens = [(call.input_tokens, call.output_tokens) for call in found.calls]
        assert tokens == [(usage["prompt_tokens"], usage["completion_tokens"])]


@pytest.mark.parametrize("run", RUNS)
def test_a_request_that_its_client_left_has_no_figure_of_the_engine(run: str) -> None:
    call = _only_call(run, _labelled(run, "D-client-abort"))

    assert call.source is Source.UNKNOWN
    assert (call.finish_reason, call.input_tokens, call.output_tokens) == (None, None, None)
    assert (call.queue_ns, call.transport_ns) == (None, None)


@pytest.mark.parametrize("run", RUNS)
def test_an_engines_start_makes_no_run(run: str) -> None:
    starting = {span.trace_id for span in spans(run) if span.name != "llm_request"}

    found = [decompose([span for span in spans(run) if span.trace_id == trace]).runs for trace in starting]

    assert found
    assert not any(found)

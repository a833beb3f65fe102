"""Calls whose client went away in mid-stream, as real instrumentations and a real vLLM told of them.

No span says so: the engine sends none, the client's has no error and ends like any other. What shows is what is
missing, a reason to have finished and token counts, which the same emitter tells of every whole answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ingest.stages import Call, Source, decompose
from tests.captured_traces import decompositions_of
from tests.captures import Capture, captures, read_json
from tests.unit.engines_captures.recorded import spans_of_request

EVERY = [*captures("corpus"), *captures("joined")]
ABORTED = [capture for capture in captures("joined") if capture.name.endswith("client-abort")]


@dataclass(frozen=True)
class Seen:
    call: Call
    truth: dict[str, Any]

    @property
    def was_left(self) -> bool:
        return self.truth["outcome"] == "aborted by client"


def _seen(capture: Capture) -> list[Seen]:
    """The calls of the capture's only agent, each with its truth."""
    expected = read_json(capture.folder / "expected.json")
    (agent,) = expected["agents"]
    spans = [
        span
        for body in capture.bodies
        if body.signal == "traces"
        for span in spans_of_request(body.content())
        if span.trace_id == agent["trace_id"]
    ]
    (run,) = decompose(spans).runs
    return [Seen(call, truth) for call, truth in zip(run.calls, expected["calls"], strict=True)]


def test_there_are_some_and_each_has_one() -> None:
    assert [[seen.was_left for seen in _seen(capture)] for capture in ABORTED] == [[False, True, False]] * 3


@pytest.mark.parametrize("capture", ABORTED, ids=lambda capture: capture.name)
def test_only_whole_answers_have_an_end_counts_and_an_engine(capture: Capture) -> None:
    for seen in _seen(capture):
        call, whole = seen.call, not seen.was_left
        assert (call.source is Source.ENGINE) is whole
        assert (call.finish_reason is not None) is whole
        assert (call.input_tokens is not None) is whole
        assert (call.output_tokens is not None) is whole
        assert call.error is None


@pytest.mark.parametrize("capture", ABORTED, ids=lambda capture: capture.name)
def test_what_came_before_is_measured_by_the_client(capture: Capture) -> None:
    (left,) = [seen for seen in _seen(capture) if seen.was_left]

    assert left.call.source is Source.CLIENT
    assert left.call.ttft_ns == pytest.approx(left.truth["client"]["role_chunk_s"] * 1e9, abs=20e6)
    assert left.call.response_id == left.truth["response_id"]
    assert (left.call.queue_ns, left.call.transport_ns) == (None, None)


def test_they_are_seen_as_such_and_nothing_else_is() -> None:
    seen = {
        (capture.name, warning.span_id)
        for capture in EVERY
        for decomposition in decompositions_of(capture).values()
        for run in decomposition.runs
        for warning in run.warnings
        if warning.code == "call_aborted"
    }

    assert seen == {(capture.name, one.call.span_id) for capture in ABORTED for one in _seen(capture) if one.was_left}

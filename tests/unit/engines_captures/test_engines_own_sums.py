"""What is read from a real vLLM's spans adds up to what the engine counted itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ingest.semconv import Facts, Kind, read_facts
from tests.unit.engines_captures.recorded import RUNS, histograms, requests, truths

ROUNDED = 1e-6  # the sums were written with six decimals
TTFT = "gen_ai.latency.time_to_first_token"
READ: dict[str, Callable[[Facts], float | None]] = {
    "gen_ai.latency.e2e": lambda facts: facts.engine and _s(facts.engine.e2e_ns),
    TTFT: lambda facts: facts.engine and _s(facts.engine.ttft_ns),
    "gen_ai.latency.time_in_queue": lambda facts: facts.engine and _s(facts.engine.queue_ns),
    "gen_ai.latency.time_in_model_prefill": lambda facts: facts.engine and _s(facts.engine.prefill_ns),
    "gen_ai.latency.time_in_model_decode": lambda facts: facts.engine and _s(facts.engine.decode_ns),
    "gen_ai.usage.prompt_tokens": lambda facts: facts.input_tokens,
    "gen_ai.usage.completion_tokens": lambda facts: facts.output_tokens,
}
FED_AT_THE_END = [name for name in READ if name != TTFT]


def _s(duration_ns: int | None) -> float | None:
    return None if duration_ns is None else duration_ns / 1e9


def _read(run: str, name: str) -> list[float]:
    values = [READ[name](read_facts(span)) for span in requests(run)]
    assert None not in values
    return [value for value in values if value is not None]


@pytest.mark.parametrize("run", RUNS)
def test_every_request_is_known_as_an_engines(run: str) -> None:
    assert {read_facts(span).kind for span in requests(run)} == {Kind.ENGINE}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", FED_AT_THE_END)
def test_its_facts_add_up_to_the_engines_histogram(run: str, name: str) -> None:
    counted, read = histograms(run)[name], _read(run, name)

    assert len(read) == counted.count
    assert sum(read) == pytest.approx(counted.sum, abs=ROUNDED, rel=0)


@pytest.mark.parametrize("run", RUNS)
def test_first_tokens_differ_by_the_one_request_that_its_client_left(run: str) -> None:
    """The engine counts a first token when it comes, and sends a span when a request ends: an abort has none."""
    counted, read = histograms(run)[TTFT], _read(run, TTFT)
    (left,) = [told for told in truths(run) if told["label"] == "D-client-abort"]

    assert len(read) == counted.count - 1
    assert sum(read) == pytest.approx(counted.by_spans, abs=ROUNDED, rel=0)
    assert 0 < counted.sum - sum(read) <= left["ttft_s"]

"""Calls that were left before their answer was complete."""

from __future__ import annotations

import pytest

from tests.unit.stages.drawing import codes, only_run

LEFT = "call stream=yes first=15 answer=r-1"
WHOLE = "call stream=yes first=65 finish=stop out=20"


def run_codes(first: str, second: str = WHOLE) -> list[str]:
    return codes(
        only_run(f"""
            run     0 100  agent
              one  10  40  {first}
              two  60  90  {second}
        """)
    )


def test_one_that_tells_of_no_end_beside_one_that_does() -> None:
    assert run_codes(LEFT) == ["call_aborted"]


@pytest.mark.parametrize("end", ["finish=length", "out=3", "asks=search"])
def test_any_end_is_one(end: str) -> None:
    assert run_codes(f"{LEFT} {end}") == []


def test_an_engines_span_is_an_end() -> None:
    run = only_run(f"""
        run       0 100  agent
          one    10  40  {LEFT}
            llm  12  38  engine ttft=5 e2e=26
          two    60  90  {WHOLE}
    """)
    assert codes(run) == []


@pytest.mark.parametrize(
    "other",
    [
        LEFT.replace("15", "65"),
        "call finish=stop out=20",
        f"{WHOLE} scope=another",
        "call stream=yes first=65 error=broken",
    ],
    ids=["tells of none either", "is not streamed", "is another's", "failed"],
)
def test_beside_one_that_tells_nothing_of_it_there_is_no_doubt(other: str) -> None:
    assert run_codes(LEFT, other) == []


def test_alone_in_its_run_it_may_be_its_instrumentations_way() -> None:
    assert codes(only_run(f"one 10 40 {LEFT}")) == []


@pytest.mark.parametrize("error", ["Request-timed-out.", "ReadTimeout", "CancelledError", "AbortError"])
def test_one_that_was_given_up_while_it_waited(error: str) -> None:
    run = only_run(f"""
        one     0 100  call  error={error}
          post  2  10  http
    """)
    assert codes(run) == ["call_aborted"]
    assert run.calls[0].error == error


@pytest.mark.parametrize("error", ["504-Gateway-Timeout", "RateLimitError"])
def test_a_servers_refusal_is_no_abort(error: str) -> None:
    assert codes(only_run(f"one 0 100 call error={error}")) == []

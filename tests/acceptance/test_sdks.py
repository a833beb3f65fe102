"""Real SDKs, live: an agent that streams and uses a tool, each in a process of its own, against a simulated engine.

The programs are those that docs/send-data.md shows.
"""

import asyncio
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.acceptance.sdk_runs import ANSWER, IMPORTS, SDKS, SENDS_CONTEXT, Ran, run_sdk
from tests.instance import Instance
from tests.polling import until

PAGE = (Path(__file__).parents[2] / "docs" / "send-data.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
MS = 1_000_000
COMPLETE_WITHIN_S = 20
# By the engine's clock and the client's a first token differs by the way between them, on a machine that is busy.
ON_THE_WAY_NS = 400 * MS


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even its parent package
        return False


EACH_SDK = [
    pytest.param(
        sdk,
        marks=pytest.mark.skipif(not _is_installed(module), reason=f"{module} is missing: the extra `sdks` brings it"),
    )
    for sdk, module in IMPORTS.items()
]


@pytest.fixture(scope="module", params=EACH_SDK)
def both(request: pytest.FixtureRequest, instance: Instance) -> tuple[Ran, Ran]:
    """The program run twice, side by side: with an engine that sends its own spans, and with one that does not."""

    async def run_both() -> tuple[Ran, Ran]:
        return await asyncio.gather(
            run_sdk(request.param, instance, engine_tells=True), run_sdk(request.param, instance, engine_tells=False)
        )

    return asyncio.run(run_both())


def test_an_engine_that_tells_is_joined(both: tuple[Ran, Ran], instance: Instance) -> None:
    ran, _ = both

    run = until(lambda: _settled(instance, ran, source="engine"), COMPLETE_WITHIN_S, "both calls know their engine")

    _assert_it_is_the_agents(run, ran)
    for call, sequence in zip(run["calls"], ran.sequences, strict=True):
        assert call["engine"] == ran.engine_service
        assert abs(call["prefill_ns"] - (sequence.first_token_ns - sequence.scheduled_ns)) <= MS
        assert call["decode_ns"] >= sequence.last_token_ns - sequence.first_token_ns - MS
        assert call["transport_ns"] > 0
        assert call["queue_ns"] + call["prefill_ns"] + call["decode_ns"] + call["transport_ns"] == call["wall_ns"]
    assert set(run["sources"].values()) == {"engine", "client"}  # the client's are parsing and tools
    assert _runs(instance, ran.engine_service) == []


def test_the_engine_is_found_by_trace_or_by_response_id(both: tuple[Ran, Ran], instance: Instance) -> None:
    ran, _ = both
    run = until(lambda: _settled(instance, ran, source="engine"), COMPLETE_WITHIN_S, "both calls know their engine")

    trace = instance.api.get(f"/traces/{run['trace_id']}").raise_for_status().json()

    in_its_trace = [span["name"] for span in trace["spans"]].count("llm_request")
    assert in_its_trace == (2 if ran.sdk in SENDS_CONTEXT else 0)


def test_without_the_engine_the_client_says_when_the_first_token_came(
    both: tuple[Ran, Ran], instance: Instance
) -> None:
    _, ran = both

    run = until(lambda: _settled(instance, ran, source="client"), COMPLETE_WITHIN_S, "both calls are split")

    _assert_it_is_the_agents(run, ran)
    for call, sequence in zip(run["calls"], ran.sequences, strict=True):
        made_after_ns = sequence.first_token_ns - sequence.queued_ns
        assert made_after_ns - MS <= call["ttft_ns"] <= made_after_ns + ON_THE_WAY_NS
        assert (call["engine"], call["queue_ns"], call["transport_ns"]) == (None, None, None)
    assert set(run["sources"].values()) == {"client"}


@pytest.mark.parametrize("sdk", IMPORTS)
def test_the_page_shows_the_program_that_runs_here(sdk: str) -> None:
    assert (SDKS / f"{sdk}.py").read_text() in PYTHON


def test_the_page_shows_no_other_python_and_a_collector_that_can_be_read() -> None:
    assert len(PYTHON) == len(IMPORTS)
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    collector = yaml.safe_load(text)
    named = {signal: pipeline["exporters"] for signal, pipeline in collector["service"]["pipelines"].items()}
    assert named == {signal: list(collector["exporters"]) for signal in ("traces", "metrics", "logs")}


def _assert_it_is_the_agents(run: dict[str, Any], ran: Ran) -> None:
    """One run, exact, with the calls, tools and tokens that the engine knows of."""
    assert ran.printed.strip() == ANSWER
    assert ran.said == ""
    assert sum(run["stages_ns"].values()) + sum(run["outside_ns"].values()) == run["wall_ns"]
    assert all(run["stages_ns"].values())
    assert (run["name"], run["status"], run["rounds"]) == ("support", "ok", 2)
    assert (run["session_id"], run["warnings"]) == ("conv-1", [])
    assert [(tool["name"], tool["ok"]) for tool in run["tools"]] == [("look_up_order", True)]
    assert [call["carries_tool_results"] for call in run["calls"]] == [False, True]
    assert [_counts(call) for call in run["calls"]] == [
        (sequence.prompt_tokens, sequence.produced, sequence.cached_tokens) for sequence in ran.sequences
    ]


def _counts(call: dict[str, Any]) -> tuple[int, int, int]:
    """Some clients leave out cached tokens when there are none."""
    return call["input_tokens"], call["output_tokens"], call["cached_tokens"] or 0


def _settled(instance: Instance, ran: Ran, source: str) -> dict[str, Any] | None:
    """The service's only run, once it ended, nothing more is awaited, and both calls have this source."""
    runs = _runs(instance, ran.service)
    assert len(runs) <= 1
    if not runs or runs[0]["provisional"]:
        return None
    run = instance.api.get(f"/runs/{runs[0]['run_id']}").raise_for_status().json()
    return run if [call["source"] for call in run["calls"]] == [source] * 2 else None


def _runs(instance: Instance, service: str) -> list[dict[str, Any]]:
    return instance.api.get("/runs", params={"service": service}).raise_for_status().json()["runs"]

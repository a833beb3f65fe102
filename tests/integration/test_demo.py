"""``python -m agents.demo`` as a program: what it says, what it sends, how it ends."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.agents.otlp_collector import Collector, Span

ROOT = Path(__file__).parents[2]
LIMIT_S = 120  # takes seconds; on a machine with much else to do, its imports alone take ten


def demo(*arguments: str, **environ: str) -> subprocess.Popen[str]:
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("SIXSTAGE_", "OTEL_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "agents.demo", "--seed", "3", *arguments],
        cwd=ROOT,
        env=ours | environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_it_sends_a_mixed_simulated_workload() -> None:
    with Collector() as collector:
        running = demo(
            *("--runs", "42", "--rate", "120", "--speed", "6"),
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
            SIXSTAGE_INGEST_KEY="key-1",
        )
        said, complained = running.communicate(timeout=LIMIT_S)

    assert (running.returncode, complained) == (0, "")
    first, *_, last = said.splitlines()
    assert first.startswith("Simulated:")
    assert collector.url in first
    assert "Ctrl-C" in first
    assert last.startswith("Ended. 42 simulated runs")
    spans = collector.spans
    assert {h.get("authorization") for h in collector.headers} == {"Bearer key-1"}
    assert {span.resource["sixstage.simulated"] for span in spans} == {True}
    assert_whole(spans)
    assert_shows_every_kind(collector)


def assert_shows_every_kind(collector: Collector) -> None:
    runs = [span for span in collector.spans if not span.parent_id]
    calls = collector.of("chat")
    like_sglang = [span for span in collector.spans if "Req" in span.name]
    assert len(runs) == 42
    assert {run.resource["service.name"] for run in runs} == {
        "support-agent",
        "research-agent",
        "coding-agent",
        "ticket-triage",
        "nightly-digest",
    }
    assert len({run.resource["deployment.environment.name"] for run in runs}) >= 2
    assert len({call.attributes["gen_ai.request.model"] for call in calls}) == 3
    assert like_sglang
    errors = {span.attributes.get("error.type") for span in collector.of("execute_tool")}
    assert {"502", "unknown_tool", "malformed_arguments", "PatchError"} <= errors
    assert [run for run in runs if run.failed]
    assert [call for call in calls if "gen_ai.request.stream" not in call.attributes]
    assert [call for call in calls if call.attributes.get("gen_ai.usage.cache_read.input_tokens") == 0]
    assert [call for call in calls if call.attributes.get("gen_ai.usage.cache_read.input_tokens", 0) > 0]
    waited = [span for span in collector.spans if span.name == "inference pool"]
    assert {span.resource["service.name"] for span in waited} >= {"nightly-digest"}
    assert max(span.end_ns - span.start_ns for span in waited) > 50_000_000
    found = {span.attributes["sixstage.cache.result"] for span in collector.of("semantic cache")}
    assert "miss" in found
    assert found & {"similar", "exact"}  # which one depends on whether the first answer was there when the next came
    assert {span.resource["service.name"] for span in collector.of("semantic cache")} == {"support-agent"}


def test_without_the_techniques_the_burst_waits_in_the_engine_and_every_question_is_asked() -> None:
    with Collector() as collector:
        running = demo(
            *("--runs", "20", "--rate", "300", "--speed", "6", "--endpoint", collector.url),
            WITHOUT="cache pool bounded-tools",
        )
        _, complained = running.communicate(timeout=LIMIT_S)

    assert (running.returncode, complained) == (0, "")
    assert_whole(collector.spans)
    assert not [span for span in collector.spans if span.name in ("inference pool", "semantic cache")]
    # The burst: some wait longer for a place than the quickest request takes in all.
    engine = collector.of("llm_request")
    queued = max(span.attributes["gen_ai.latency.time_in_queue"] for span in engine)
    assert queued > min(span.attributes["gen_ai.latency.e2e"] for span in engine)


def assert_whole(spans: list[Span]) -> None:
    """Every parent is there, and every trace has one root."""
    known = {span.span_id for span in spans}
    roots = [span for span in spans if span.parent_id not in known]
    assert {span.operation for span in roots} == {"invoke_agent"}
    assert {span.parent_id for span in roots} == {""}
    assert len(roots) == len({span.trace_id for span in spans})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly_when_it_is_told_to(number: signal.Signals) -> None:
    with Collector() as collector:
        running = demo("--rate", "600", "--speed", "3", "--endpoint", collector.url)
        collector.wait(lambda spans: len(spans) > 20, LIMIT_S)
        running.send_signal(number)
        said, complained = running.communicate(timeout=LIMIT_S)

    assert (running.returncode, complained) == (0, "")
    assert said.splitlines()[-1].startswith("Ended.")
    assert_whole(collector.spans)


def test_a_second_ctrl_c_cuts_runs_short_but_not_their_spans() -> None:
    with Collector() as collector:
        running = demo("--rate", "600", "--speed", "0.5", "--endpoint", collector.url)
        assert running.stdout
        while "ticket-triage" not in (line := running.stdout.readline()):
            assert line, "it ended too early"
        running.send_signal(signal.SIGINT)
        while "Stopping" not in (line := running.stdout.readline()):
            assert line, "it ended too early"
        running.send_signal(signal.SIGINT)
        said, complained = running.communicate(timeout=LIMIT_S)

    assert (running.returncode, complained) == (0, "")
    assert "cut short" in said
    assert "cancelled" in {span.attributes.get("error.type") for span in collector.of("invoke_agent")}
    # An engine span may be missing, since its client left; no agent's span is.
    assert_whole(collector.spans)


def test_without_sixstage_it_says_what_to_do() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        running = demo(SIXSTAGE_OTLP_HTTP_PORT=str(unused.getsockname()[1]))
        said, complained = running.communicate(timeout=LIMIT_S)

    assert running.returncode == 1
    assert len(said.splitlines()) == 1
    assert len(complained.splitlines()) == 1
    assert "make up" in complained


def test_a_collector_that_goes_away_does_not_stop_it() -> None:
    with Collector() as collector:
        running = demo("--runs", "8", "--rate", "300", "--speed", "5", "--endpoint", collector.url)
        collector.wait(bool, LIMIT_S)
        collector.status = 400
        _, complained = running.communicate(timeout=LIMIT_S)

    assert running.returncode == 0
    assert len(complained.splitlines()) == 1
    assert "cannot be sent" in complained


def test_a_rate_out_of_range_is_refused_by_name() -> None:
    running = demo("--runs", "1", RATE="0")
    _, complained = running.communicate(timeout=LIMIT_S)

    assert running.returncode == 2
    assert "--rate" in complained


def test_a_technique_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    _, complained = demo("--without", "cache,luck").communicate(timeout=LIMIT_S)

    assert "luck: expected cache, pool, bounded-tools" in complained


def test_make_hands_the_rate_over(tmp_path: Path) -> None:
    """``make demo RATE=60``: variables of make's command line are in the environment of what it starts."""
    (tmp_path / ".runtime").touch()  # an environment that is up to date, so that make installs nothing
    command = ["make", "-s", "demo", f"VENV={tmp_path}", f"RUN={sys.executable}", "RATE=9999"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    assert "9999: expected 1 to 600" in told.stderr

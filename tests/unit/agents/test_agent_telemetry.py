"""The way to the collector: flushed at the end, quiet and quick when nobody is there."""

import logging
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.telemetry import Outage, Telemetry
from agents.telemetry.export import SpanSender, traces_url
from tests.unit.agents.otlp_collector import Collector

ROOT = Path(__file__).parents[3]
LOGGER = "agents.telemetry"


@pytest.fixture
def nobody() -> Iterator[str]:
    """An endpoint that refuses connections: a bound port on which nobody listens."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{unused.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """An endpoint that takes connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("place", ["nobody", "silent"])
def test_a_collector_that_is_away_costs_a_moment_and_one_log_line(
    place: str, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = Telemetry("lonely", endpoint=request.getfixturevalue(place), close_s=0.4)
    for _ in range(3):
        with telemetry.agent("lonely"), telemetry.tool("count"):
            pass

    started_ns = time.perf_counter_ns()
    telemetry.close()

    assert (time.perf_counter_ns() - started_ns) / 1e9 < 2
    (line,) = caplog.records
    assert line.name == LOGGER
    assert "The agent goes on" in line.getMessage()


def test_an_outage_is_told_once_and_its_end_too(collector: Collector, caplog: pytest.LogCaptureFixture) -> None:
    sender = SpanSender(traces_url(collector.url), {}, Outage(collector.url))
    for collector.status in (200, 400, 400, 200, 200):
        sender.export([])
    sender.shutdown()

    away, back = (record.getMessage() for record in caplog.records)
    assert "cannot be sent" in away
    assert "400" in away
    assert "again" in back


def test_log_lines_of_other_exporters_are_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter").warning("mine")

    assert [record.getMessage() for record in caplog.records] == ["mine"]


def test_a_program_that_just_ends_sends_its_spans(collector: Collector) -> None:
    program = (
        "from agents.telemetry import Telemetry\n"
        f"telemetry = Telemetry('short', endpoint={collector.url!r}, every_s=60)\n"
        "with telemetry.agent('short'): pass\n"
    )

    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, timeout=120)

    assert collector.one("invoke_agent").resource["service.name"] == "short"


def test_a_span_that_ends_after_the_close_breaks_nothing(collector: Collector) -> None:
    telemetry = Telemetry("late", endpoint=collector.url)
    with telemetry.agent("late"):
        telemetry.close()
    telemetry.close()

    assert collector.spans == []


def test_headers_go_along(collector: Collector) -> None:
    with (
        Telemetry("keyed", endpoint=collector.url, headers={"authorization": "Bearer k"}) as telemetry,
        telemetry.agent("keyed"),
    ):
        pass

    assert collector.headers[0]["authorization"] == "Bearer k"


def test_long_texts_are_cut_and_say_so(collector: Collector) -> None:
    with (
        Telemetry("wordy", endpoint=collector.url, capture_content=True, content_limit=10) as telemetry,
        telemetry.tool("talk") as used,
    ):
        used.answered("x" * 25)

    assert collector.one("execute_tool").attributes["gen_ai.tool.call.result"] == ("xxxxxxxxxx… (15 more characters)")


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
        ("https://otel.example/base", "https://otel.example/base/v1/traces"),
        ("http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/traces"),
    ],
)
def test_the_path_is_added_where_it_is_missing(endpoint: str, url: str) -> None:
    assert traces_url(endpoint) == url


@pytest.mark.parametrize("endpoint", ["", "127.0.0.1:4318", "grpc://127.0.0.1:4317", "http://", "http://h:x"])
def test_what_is_no_http_url_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match="expected http://host:port"):
        traces_url(endpoint)

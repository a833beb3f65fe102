"""Where the demo sends to, as its arguments and the environment say."""

import pytest

from agents.demo.target import NotReadyError, Target
from tests.unit.agents.otlp_collector import Collector


@pytest.mark.parametrize(
    ("argument", "environ", "endpoint"),
    [
        (None, {}, "http://127.0.0.1:4318"),
        (None, {"SIXSTAGE_OTLP_HTTP_PORT": "4400"}, "http://127.0.0.1:4400"),
        (None, {"SIXSTAGE_HOST": "10.0.0.7"}, "http://10.0.0.7:4318"),
        (None, {"SIXSTAGE_HOST": "0.0.0.0"}, "http://127.0.0.1:4318"),
        (None, {"SIXSTAGE_HOST": "::"}, "http://[::1]:4318"),
        (None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o:1", "SIXSTAGE_HOST": "h"}, "http://o:1"),
        ("http://a:2", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o:1"}, "http://a:2"),
    ],
)
def test_the_nearest_word_wins(argument: str | None, environ: dict[str, str], endpoint: str) -> None:
    assert Target.of(argument, environ).endpoint == endpoint


def test_the_key_goes_along_and_so_do_opentelemetrys_headers() -> None:
    environ = {"SIXSTAGE_INGEST_KEY": "k", "OTEL_EXPORTER_OTLP_HEADERS": "x-team=blue"}

    assert Target.of(None, environ).headers == {"authorization": "Bearer k", "x-team": "blue"}


@pytest.mark.parametrize(("status", "advice"), [(401, "SIXSTAGE_INGEST_KEY"), (404, "make up"), (503, "make up")])
def test_a_refusal_says_what_to_do(collector: Collector, status: int, advice: str) -> None:
    collector.status = status

    with pytest.raises(NotReadyError, match=advice):
        Target(collector.url).check()


def test_a_collector_that_is_there_is_ready(collector: Collector) -> None:
    Target(collector.url).check()

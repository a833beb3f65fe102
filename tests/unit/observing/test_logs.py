"""Log lines: one JSON object each in production, with the request that they belong to."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from ingest.observing import logs


@pytest.fixture(autouse=True)
def a_request() -> Iterator[None]:
    token = logs.request_id.set("r-1")
    yield
    logs.request_id.reset(token)


def record(message: str = "trace %s failed", *values: object, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("ingest.decomposing", logging.ERROR, "", 0, message, values or ("ab",), None)
    made.__dict__ |= fields
    return made


def test_a_line_is_one_object_whatever_is_in_it() -> None:
    line = logs.JsonLines().format(record("%s", 'a "quote"\nand a line\u2028end', trace_id="ab" * 16, project=3))
    assert "\n" not in line
    told = json.loads(line)
    assert told["message"] == 'a "quote"\nand a line\u2028end'
    assert told["level"] == "error"
    assert told["logger"] == "ingest.decomposing"
    assert (told["request_id"], told["trace_id"], told["project"]) == ("r-1", "ab" * 16, 3)
    assert {"time", "process", "pid"} <= told.keys()


def test_an_exception_stays_on_its_line() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        failed = record()
        failed.exc_info = (ValueError, error, error.__traceback__)
    line = logs.JsonLines().format(failed)
    assert "\n" not in line
    assert "ValueError: no" in json.loads(line)["exception"]


def test_people_read_the_same_at_the_end_of_a_line() -> None:
    assert logs.TextLines().format(record(trace_id="ab")).endswith("trace ab failed [trace_id=ab request_id=r-1]")


@pytest.mark.parametrize("given", [None, "", "a b", "a\nb", "é", "x" * 129, "a\x00"])
def test_an_id_that_would_hurt_a_header_or_a_log_is_replaced(given: str | None) -> None:
    assert len(logs.choose_request_id(given)) == 32


def test_the_clients_own_id_is_kept() -> None:
    assert logs.choose_request_id("req-7/a:b") == "req-7/a:b"

"""What every captured SDK sent decomposes alike, to the last figure, with its texts and without them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pytest
from google.protobuf.message import Message

from ingest.compression import plain_compressor
from ingest.log_chunks import spans_with_events
from ingest.models.telemetry import Signal
from ingest.otlp import json_form, requests
from ingest.otlp.requests import Refusals
from ingest.otlp.split import split_logs, split_traces
from ingest.otlp.trimming import Trimming
from ingest.stages import decompose
from tests.captures import Capture, captures

CAPTURES = captures("corpus") + captures("joined")
SIGNALS = {"traces": Signal.TRACES, "logs": Signal.LOGS}
WHOLE, WITHOUT, SHORT = Trimming(), Trimming(payload=False), Trimming(limit_bytes=2048)
# Words of the agents' prompts, tools' results and answers, as the captures were made with them.
WORDS = ("lorem", "what do the docs say", "You are a helpful agent", "weather looks fine", "Paris, the capital")


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_the_runs_are_the_same_without_texts_and_with_cut_ones(capture: Capture) -> None:
    assert runs(capture, WITHOUT) == runs(capture, WHOLE)
    assert runs(capture, SHORT) == runs(capture, WHOLE)


@pytest.mark.parametrize("capture", CAPTURES, ids=lambda capture: capture.name)
def test_none_of_the_texts_is_left(capture: Capture) -> None:
    for content in contents(capture, WITHOUT):
        assert [word for word in WORDS if word.encode() in content] == []


@lru_cache(maxsize=4)
def runs(capture: Capture, trimming: Trimming) -> list[Any]:
    bodies: dict[bytes, list[tuple[int, bytes]]] = defaultdict(list)
    for signal, part in _parts(capture, trimming):
        bodies[part.trace_id].append((int(signal), plain_compressor().compress(part.content)))
    return [decompose(spans_with_events(bodies[trace_id], trace_id.hex())) for trace_id in sorted(bodies)]


def contents(capture: Capture, trimming: Trimming) -> list[bytes]:
    return [part.content for _, part in _parts(capture, trimming)]


def _parts(capture: Capture, trimming: Trimming) -> Iterator[tuple[Signal, Any]]:
    for body in capture.bodies:
        signal = SIGNALS.get(body.signal)
        if signal is None:
            continue
        refusals = Refusals()
        parse = json_form.parse_json if body.is_json else requests.parse_protobuf
        request: Message = parse(signal, body.content(), refusals)
        trimming.strip(request)
        parts = (
            split_traces(request, refusals, trimming) if signal == Signal.TRACES else split_logs(request, trimming)[0]
        )
        yield from ((signal, part) for part in parts)

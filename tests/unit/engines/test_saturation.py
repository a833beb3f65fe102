"""What an engine is short of, in words."""

from __future__ import annotations

import pytest

from ingest.engines.saturation import Load, saturation


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (Load(running=4, waiting=12, kv_usage=0.97), "queueing: 12 waiting, 4 running, KV cache 97 %"),
        (Load(running=4, waiting=2, kv_usage=0.96, preemptions=4),
         "preempting: 4 preempted, 2 waiting, 4 running, KV cache 96 %"),
        (Load(running=2, waiting=0, kv_usage=0.1), "serving: 2 running, KV cache 10 %"),
        (Load(running=0, waiting=0, kv_usage=0), "idle"),
        (Load(running=1, waiting=0), "serving: 1 running"),
        (Load(), "tells no load"),
        (Load(running=0, waiting=0, asleep=True), "asleep"),
        (Load(running=1, waiting=0, kv_usage=0.9999), "serving: 1 running, KV cache 99 %"),
    ],
)  # fmt: skip
def test_the_worst_is_said_first(load: Load, words: str) -> None:
    assert saturation(load).words == words

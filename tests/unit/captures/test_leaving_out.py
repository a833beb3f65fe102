"""How emitters never seen are scored: what counts as an emitter, as a rule, and as hidden."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.captured_traces import traces_of
from tests.captures import Capture, captures
from tests.tools.leave_out import emitter_of, hidden, is_right, rules_of

CORPUS = {capture.name: capture for capture in captures("corpus")}


def test_captures_of_one_library_are_one_emitters() -> None:
    emitters = {emitter_of(capture) for capture in CORPUS.values()}
    assert len(emitters) == 20
    assert {"otel-openai-v2", "strands", "litellm", "openinference-openai-agents"} <= emitters
    assert emitter_of(CORPUS["otel-openai-v2-latest-parallel"]) == emitter_of(CORPUS["otel-openai-v2-http-http"])


@pytest.mark.parametrize("capture", CORPUS.values(), ids=lambda capture: capture.name)
def test_the_kernel_alone_reads_it_right(capture: Capture) -> None:
    assert is_right(capture, traces_of(capture))


def test_rules_are_keys_words_events_and_lines_that_were_used() -> None:
    rules = rules_of(CORPUS["mlflow-parallel"])
    assert ("key", "mlflow.spanType") in rules
    assert ("word", "mlflow.spanType=CHAT_MODEL") in rules
    assert ("event", "mlflow.chunk.item.N") in rules
    assert ("key", "langfuse.observation.type") not in rules
    files = {which.partition(":")[0] for kind, which in rules if kind == "line"}
    assert {"semconv/mlflow.py", "stages/decompose.py"} <= files
    assert "semconv/langfuse.py" not in files


def test_what_is_hidden_is_gone_and_the_rest_stays() -> None:
    capture = CORPUS["mlflow-parallel"]
    whole = traces_of(capture)
    less = hidden(whole, {("word", "mlflow.spanType=CHAT_MODEL"), ("key", "mlflow.llm.model"), ("event", "mlflow.x")})
    for trace_id, spans in whole.items():
        for before, after in zip(spans, less[trace_id], strict=True):
            gone = before.attributes.keys() - after.attributes.keys()
            assert gone <= {"mlflow.spanType", "mlflow.llm.model"}
            assert replace(after, attributes=before.attributes) == before
    assert not is_right(capture, less)

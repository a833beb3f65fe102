"""A value over the limit is cut with a mark, and JSON stays JSON that still tells what it told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.semconv.messages import asked_in, ends_in_tool_results
from ingest.semconv.shortening import mark, shortened, shortened_text, size_of

MESSAGES = [
    {"role": "user", "content": "x" * 50_000},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "look_up", "arguments": "y" * 30_000}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "z" * 200},
]


def test_what_fits_is_the_same_object() -> None:
    text = "x" * 1000
    assert shortened_text(text, 1000) is text


def test_plain_text_ends_in_a_mark_with_its_size() -> None:
    cut = shortened_text("é" * 5000, 1000)
    assert cut.endswith("… [cut by Sixstage: 10,000 bytes]")
    assert cut.startswith("é" * 400)
    assert size_of(cut) <= 1000


@pytest.mark.parametrize("limit", [2000, 10_000, 60_000])
def test_messages_are_cut_inside_their_longest_words(limit: int) -> None:
    text = json.dumps(MESSAGES)
    cut = shortened_text(text, limit)
    assert size_of(cut) <= limit
    read = json.loads(cut)
    assert read[0]["content"].endswith(mark(50_000))
    assert read[2]["content"] == "z" * 200
    assert asked_in(cut) == asked_in(text)
    assert ends_in_tool_results(cut) is True


def test_json_within_json_stays_json() -> None:
    inner = json.dumps(MESSAGES)
    cut = shortened_text(json.dumps({"answer": inner}), 8000)
    assert asked_in(cut) == asked_in(inner)


def test_quotes_and_newlines_count_as_what_they_take() -> None:
    cut = shortened_text(json.dumps(['"\n' * 40_000]), 10_000)
    assert size_of(cut) <= 10_000
    json.loads(cut)


def test_of_a_document_of_countless_short_words_what_is_read_stays() -> None:
    text = json.dumps({"n": list(range(20_000)), "messages": [{"role": "tool", "content": "x"}]})
    cut = shortened_text(text, 5000)
    assert json.loads(cut)[""] == mark(len(text))
    assert ends_in_tool_results(cut) is True


@pytest.mark.parametrize("text", [json.dumps({str(n): {} for n in range(9999)}), "[" * 100_000, "{" * 100_000])
def test_what_has_no_long_words_is_cut_as_text(text: str) -> None:
    cut = shortened_text(text, 5000)
    assert size_of(cut) <= 5000
    assert cut.endswith(mark(len(text)))


def test_structured_values_are_cut_by_the_same_rule() -> None:
    cut = shortened({"a": ["x" * 9000], "b": "short"}, 2000)
    assert cut["b"] == "short"
    assert cut["a"][0].endswith(mark(9000))
    assert shortened(b"x" * 9000, 2000) == b"x" * 2000


JSON = st.recursive(st.text() | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))


@settings(deadline=None)
@given(JSON, st.integers(1024, 3000), st.integers(1, 400))
def test_nothing_is_ever_over_the_limit(value: object, limit: int, times: int) -> None:
    text = json.dumps([value] * times, ensure_ascii=False)
    assert size_of(shortened_text(text, limit)) <= limit


@given(st.text(), st.integers(1024, 3000))
def test_a_retry_is_cut_alike(text: str, limit: int) -> None:
    assert shortened_text(text * 50, limit) == shortened_text(text * 50, limit)

"""Refused requests are kept by who and why, never with anything of a body."""

from __future__ import annotations

import pytest

from ingest.observing.exports import key_hint
from ingest.observing.refusals import KEPT, Refusal, Refused, without_payload

SECRET = "my-grandmothers-maiden-name"


def refusal(**fields: object) -> Refusal:
    usual = {
        "project_id": 1, "key": "sxi_abcd", "reason": "bad_data", "client": "10.0.0.7", "agent": "otel/1",
        "way": "/v1/traces",
    }  # fmt: skip
    return Refusal(**usual | fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sentence",
    [
        f"one of the spans cannot be read: Failed to parse startTimeUnixNano: couldn't parse {SECRET}",
        f"one of the spans cannot be read: traceId must be 32 hex digits, got '{SECRET}'",
        f'one of the spans cannot be read: spanId must be 16 hex digits, got "it\'s {SECRET}"',
        f"the store refuses this batch: invalid input {SECRET}",
        f"nothing was read: the body has no resourceSpans but resource_spans, {SECRET}; keys are lowerCamelCase",
        f"3 left out: one of the spans cannot be read: {SECRET}; 1 left out: trace_id is missing",
    ],
)
def test_what_a_sentence_quotes_of_the_body_is_cut(sentence: str) -> None:
    assert SECRET not in without_payload(sentence)


def test_what_helps_the_sender_stays() -> None:
    told = without_payload("one of the spans cannot be read: traceId must be 32 hex digits, got 'AAAA'")
    assert told == "one of the spans cannot be read: traceId must be 32 hex digits, got …"
    helpful = "the body holds log records, not spans: send it to /v1/logs"
    assert without_payload(helpful) == helpful


def test_equal_refusals_are_one_with_a_count() -> None:
    refused = Refused()
    for _ in range(1000):
        refused.note(refusal(), "the body is not JSON")
    refused.note(refusal(key="sxi_efgh"), "the body is not JSON")
    assert [(one.refusal.key, one.requests) for one in refused.take()] == [("sxi_abcd", 1000), ("sxi_efgh", 1)]
    assert refused.take() == []


def test_a_flood_of_different_senders_takes_bounded_memory() -> None:
    refused = Refused()
    for number in range(10 * KEPT):
        refused.note(refusal(client=str(number)), "")
    kept = refused.take()
    assert len(kept) == KEPT
    assert kept[-1].refusal.client == str(10 * KEPT - 1)


@pytest.mark.parametrize(
    ("headers", "hint"),
    [
        ({}, ""),
        ({"authorization": "Bearer sxi_abcdefghijkl"}, "sxi_abcd"),
        ({"x-api-key": "sxr_abcdefghijkl"}, "sxr_abcd"),
        ({"authorization": "Bearer sk-another-products-secret"}, "foreign"),
    ],
)
def test_no_more_of_a_key_is_shown_than_the_settings_page_does(headers: dict[str, str], hint: str) -> None:
    assert key_hint(headers) == hint

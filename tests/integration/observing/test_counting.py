"""Every answer is counted once: whose it was, how much came, and why it was refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
import redis
from asgiref.sync import sync_to_async

from ingest.decomposing import decompose_dirty
from ingest.models import IngestKey, Project
from ingest.observing import refusals
from ingest.observing.refusals import KEPT, Refusal, Seen
from tests.integration.otlp.messages import JSON, PROTOBUF, body, logs, span
from tests.integration.store.parts import IDLE_NS

pytestmark = pytest.mark.django_db(transaction=True)

Counted = Callable[..., float]
Last = Callable[[], list[Seen]]


async def test_good_spans_are_counted_by_project_and_signal(
    web: httpx.AsyncClient, project: Project, counted: Counted
) -> None:
    sent = body(span(), span(), span())
    await web.post("/v1/traces", content=sent, headers=PROTOBUF)
    await web.post("/v1/logs", content=logs(), headers=PROTOBUF)
    mine = {"project": str(project.pk)}
    assert counted("sixstage_received_requests_total", signal="traces", **mine) == 1
    assert counted("sixstage_received_bytes_total", signal="traces", **mine) == len(sent)
    assert counted("sixstage_stored_items_total", signal="traces", **mine) == 3
    assert counted("sixstage_stored_items_total", signal="logs", **mine) == 1
    assert counted("sixstage_ack_seconds_count", signal="traces") == 1
    assert counted("sixstage_commit_seconds_count") == counted("sixstage_commit_bytes_count") == 2
    assert counted("sixstage_refused_requests_total") == counted("sixstage_refused_items_total") == 0


async def test_a_retry_is_counted_as_duplicate(web: httpx.AsyncClient, counted: Counted) -> None:
    sent = body(span(), span())
    for _ in range(3):
        await web.post("/v1/traces", content=sent, headers=PROTOBUF)
    assert counted("sixstage_duplicate_chunks_total") == 4


async def test_decomposed_traces_and_their_lag_are_counted(web: httpx.AsyncClient, counted: Counted) -> None:
    import time

    chat = span("chat", attributes={"gen_ai.operation.name": "chat"})
    await web.post("/v1/traces", content=body(chat), headers=PROTOBUF)
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)
    assert counted("sixstage_decomposed_traces_total") == counted("sixstage_decomposed_spans_total") == 1
    assert counted("sixstage_written_rows_total", table="run") == 1
    assert counted("sixstage_visible_lag_seconds_count") == counted("sixstage_decompose_seconds_count") == 1
    assert 0 < counted("sixstage_visible_lag_seconds_sum") < 60


async def test_left_out_spans_are_counted_and_shown_by_a_code(
    web: httpx.AsyncClient, project: Project, counted: Counted, last_refused: Last
) -> None:
    await web.post("/v1/traces", content=body(span(), span(trace_id=b"x"), span(span_id=b"")), headers=PROTOBUF)
    mine = {"project": str(project.pk)}
    assert counted("sixstage_refused_items_total", reason="bad_trace_id", **mine) == 1
    assert counted("sixstage_refused_items_total", reason="bad_span_id", **mine) == 1
    assert counted("sixstage_stored_items_total", **mine) == 1
    shown = {one.refusal.reason: one for one in await sync_to_async(last_refused)()}
    assert shown.keys() == {"bad_trace_id", "bad_span_id"}
    assert shown["bad_trace_id"].items == 1
    assert "32 hex digits" in shown["bad_trace_id"].sentence


async def test_a_refused_body_is_shown_without_its_content(
    web: httpx.AsyncClient, project: Project, counted: Counted, last_refused: Last
) -> None:
    key, secret = await sync_to_async(IngestKey.issue)(project, "checkout")
    sent = {"x-api-key": secret, "user-agent": "shop/1.2", **JSON}
    for _ in range(2):
        await web.post("/v1/traces", content=b'{"resourceSpans": "a very private prompt"}', headers=sent)
    assert counted("sixstage_refused_requests_total", reason="bad_data", key=key.hint, project=str(project.pk)) == 2
    [one] = await sync_to_async(last_refused)()
    assert (one.refusal.project_id, one.refusal.key, one.refusal.agent) == (project.pk, key.hint, "shop/1.2")
    assert (one.refusal.way, one.requests) == ("/v1/traces", 2)
    assert "private" not in str(one)
    assert secret not in str(one)


async def test_an_unknown_key_is_shown_by_its_beginning_and_makes_no_label(
    web: httpx.AsyncClient, counted: Counted, last_refused: Last
) -> None:
    for number in range(5):
        await web.post("/v1/traces", content=body(span()), headers={"x-api-key": f"sxi_{number}abcdefgh", **PROTOBUF})
    assert counted("sixstage_refused_requests_total", reason="no_key", project="unknown", key="") == 5
    assert {one.refusal.key for one in await sync_to_async(last_refused)()} == {f"sxi_{n}abc" for n in range(5)}


async def test_a_foreign_host_is_counted_too(web: httpx.AsyncClient, counted: Counted, last_refused: Last) -> None:
    await web.post("/v1/traces", content=body(span()), headers={"host": "evil.example", **PROTOBUF})
    assert counted("sixstage_refused_requests_total", reason="forbidden") == 1
    assert [one.refusal.reason for one in await sync_to_async(last_refused)()] == ["forbidden"]


async def test_an_answer_names_its_request(web: httpx.AsyncClient, caplog: Any) -> None:
    named = await web.post("/v1/traces", content=body(span()), headers={"x-request-id": "mine-1", **PROTOBUF})
    assert named.headers["x-request-id"] == "mine-1"
    made = [(await web.get("/healthz")).headers["x-request-id"] for _ in range(2)]
    assert len(set(made)) == 2
    refused = await web.get("/live", headers={"host": "evil.example", "x-request-id": "bad id\x01"})
    assert len(refused.headers["x-request-id"]) == 32


def test_only_the_last_are_kept(valkey: redis.Redis) -> None:
    def seen(number: int) -> Seen:
        refusal = Refusal(project_id=None, key="", reason="no_key", client=str(number), agent="", way="/v1/traces")
        return Seen(
            refusal=refusal, sentence="", requests=1, items=0, first_unix_ns=number, last_unix_ns=number * 10**9
        )

    refusals.keep(valkey, [seen(number) for number in range(KEPT + 50)])
    refusals.keep(valkey, [seen(60)])
    last = refusals.last(valkey)
    assert len(last) == KEPT == len(valkey.keys("sixstage:refused:*"))
    assert [one.requests for one in last if one.refusal.client == "60"] == [2]
    assert {one.refusal.client for one in last} == {str(number) for number in range(50, KEPT + 50)}

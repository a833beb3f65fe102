"""Odd telemetry from the wire to the API and the pages: kept, decomposed and shown; ids that change redirect."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.decomposing import decompose_dirty
from tests.integration.otlp.messages import PROTOBUF, body, partial, span

pytestmark = pytest.mark.django_db(transaction=True)
Send = Callable[..., Awaitable[None]]


@pytest.fixture
def send(web: httpx.AsyncClient) -> Send:
    """Send spans and have them decomposed."""

    async def send_spans(*spans: Span) -> None:
        assert partial(await web.post("/v1/traces", content=body(*spans), headers=PROTOBUF)) == (0, "")
        await sync_to_async(decompose_dirty)(time.time_ns(), 10**9)

    return send_spans


def call(name: str = "chat m", model: str = "m", **fields: Any) -> Span:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model} | fields.pop("attributes", {})
    return span(name, attributes=attributes, **fields)


def run_id(root: Span) -> str:
    return f"{root.trace_id.hex()}-{root.span_id.hex()}"


ODD = {
    "nul in its texts": {
        "name": "a\x00b",
        "model": "m\x00",
        "attributes": {"gen_ai.conversation.id": "\x00", "k\x00": "v\x00"},
    },
    "in 1970": {"start_time_unix_nano": 1, "end_time_unix_nano": 10**9},
    "in 2554": {"start_time_unix_nano": 2**64 - 10**9, "end_time_unix_nano": 2**64 - 1},
    "from 1970 to 2554": {"start_time_unix_nano": 1, "end_time_unix_nano": 2**64 - 1},
    "without times": {"start_time_unix_nano": 0, "end_time_unix_nano": 0},
    "ended before its start": {"end_time_unix_nano": 1},
    "without a name": {"name": "", "model": ""},
    "of a million letters": {"name": "x" * 1_000_000, "model": "y" * 100_000},
    "its own parent": {"span_id": b"12345678", "parent_span_id": b"12345678"},
    "of an unknown kind": {"kind": 99},
    "with absurd counts": {"attributes": {"gen_ai.usage.input_tokens": 2**62, "gen_ai.usage.output_tokens": -5}},
    "with counts that are text": {"attributes": {"gen_ai.usage.input_tokens": "many"}},
    "with a number that is none": {"attributes": {"gen_ai.request.temperature": float("nan")}},
    "with bytes": {"attributes": {"blob": b"\x00\xff"}},
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_call_is_kept_decomposed_and_shown(web: httpx.AsyncClient, send: Send, odd: str) -> None:
    sent, beside = call(**ODD[odd]), call()
    await send(sent, beside)
    for one in (sent, beside):
        answer = await web.get(f"/api/v1/runs/{run_id(one)}")
        assert answer.status_code == 200, answer.text
        run = answer.json()
        assert sum(run["stages_ns"].values()) + sum(run["outside_ns"].values()) == run["wall_ns"]
        assert "\\u0000" not in answer.text
        assert (await web.get(f"/runs/{run_id(one)}")).status_code == 200
        assert (await web.get(f"/runs/{run_id(one)}/spans/{one.span_id.hex()}")).status_code == 200
    trace = (await web.get(f"/api/v1/traces/{sent.trace_id.hex()}")).json()
    assert trace["spans"][0]["start_unix_ns"] == str(sent.start_time_unix_nano)
    assert trace["spans"][0]["name"] == sent.name
    for page in ("/live", "/live/now", "/live/charts", "/live/older", "/runs", "/api/v1/runs"):
        assert (await web.get(page)).status_code == 200, page


async def test_an_id_whose_root_was_replaced_leads_to_the_run_that_took_over(
    web: httpx.AsyncClient, send: Send
) -> None:
    root = span("invoke_agent planner", attributes={"gen_ai.operation.name": "invoke_agent"})
    between = span("step", trace_id=root.trace_id, parent_span_id=root.span_id)
    child = call(trace_id=root.trace_id, parent_span_id=between.span_id)
    await send(child)
    (early,) = (await web.get("/api/v1/runs")).json()["runs"]
    assert early["run_id"] != run_id(root)
    await send(between, root)
    moved = await web.get(f"/api/v1/runs/{early['run_id']}?project=alpha")
    assert moved.status_code == 302
    assert moved.headers["location"] == f"/api/v1/runs/{run_id(root)}?project=alpha"
    assert (await web.get(moved.headers["location"])).json()["calls"][0]["span_id"] == child.span_id.hex()
    page = await web.get(f"/runs/{early['run_id']}")
    assert (page.status_code, run_id(root) in page.headers.get("location", "")) == (302, True)


async def test_a_run_is_provisional_until_it_settles(web: httpx.AsyncClient, send: Send) -> None:
    root = call()
    await send(root)
    assert (await web.get(f"/api/v1/runs/{run_id(root)}")).json()["provisional"] is True

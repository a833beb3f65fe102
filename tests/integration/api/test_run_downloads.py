"""A run to take away: OTLP JSON that any receiver takes back, and a picture."""

from __future__ import annotations

import json
import time
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from asgiref.sync import sync_to_async
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.decomposing import decompose_dirty
from tests.integration.otlp.messages import JSON, PROTOBUF, body, partial, span

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = '</text><script>alert("\u202e")</script>'


async def stored(web: httpx.AsyncClient, *spans: Span) -> str:
    """The id of the run whose root is the first span."""
    for one in spans:  # a request each, so that there are several chunks
        assert partial(await web.post("/v1/traces", content=body(one), headers=PROTOBUF)) == (0, "")
    await sync_to_async(decompose_dirty)(time.time_ns(), 10**9)
    return f"{spans[0].trace_id.hex()}-{spans[0].span_id.hex()}"


def agent_and_call() -> tuple[Span, Span]:
    told = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": HOSTILE, "raw": b"\x00\xff"}
    agent = span("agent", attributes=told)
    call = span(
        "chat m", trace_id=agent.trace_id, parent_span_id=agent.span_id,
        attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "traceId": "no id", "größe": "你好"},
        links=[Span.Link(trace_id=b"t" * 16, span_id=b"s" * 8)],
        events=[Span.Event(time_unix_nano=time.time_ns(), name="gen_ai.choice")],
    )  # fmt: skip
    return agent, call


async def test_a_run_as_otlp_json_is_the_trace_that_was_sent(web: httpx.AsyncClient) -> None:
    agent, call = agent_and_call()
    run_id = await stored(web, agent, call)
    answer = await web.get(f"/runs/{run_id}/otlp.json")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run_id}.otlp.json"'
    told = json.loads(answer.text)
    spans = [s for r in told["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]
    assert [(s["traceId"], s["spanId"], s["name"]) for s in spans] == [
        (one.trace_id.hex(), one.span_id.hex(), one.name) for one in (agent, call)
    ]
    assert spans[1]["parentSpanId"] == agent.span_id.hex()
    assert spans[1]["links"] == [{"traceId": (b"t" * 16).hex(), "spanId": (b"s" * 8).hex()}]
    assert spans[1]["startTimeUnixNano"] == str(call.start_time_unix_nano)
    assert {"key": "traceId", "value": {"stringValue": "no id"}} in spans[1]["attributes"]
    assert "你好" in answer.text


async def test_what_was_downloaded_can_be_sent_again_and_gives_the_same_run(web: httpx.AsyncClient) -> None:
    run_id = await stored(web, *agent_and_call())
    before = (await web.get(f"/api/v1/runs/{run_id}")).json()
    trace = (await web.get(f"/api/v1/traces/{before['trace_id']}")).json()
    content = (await web.get(f"/runs/{run_id}/otlp.json")).text
    other = content.replace(before["trace_id"], "ab" * 16)  # as into another instance
    answer = await web.post("/v1/traces", content=other, headers=JSON)
    assert (answer.status_code, answer.json()) == (200, {})
    await sync_to_async(decompose_dirty)(time.time_ns(), 10**9)
    after = (await web.get(f"/api/v1/runs/{'ab' * 16}-{run_id.partition('-')[2]}")).json()
    again = (await web.get(f"/api/v1/traces/{'ab' * 16}")).json()
    assert _unnamed(after) == _unnamed(before)
    assert [_unnamed(one) for one in again["spans"]] == [_unnamed(one) for one in trace["spans"]]


def _unnamed(told: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key not in ("trace_id", "run_id")}


async def test_a_picture_of_a_run_is_a_whole_svg_in_which_names_are_only_text(web: httpx.AsyncClient) -> None:
    run_id = await stored(web, *agent_and_call())
    answer = await web.get(f"/runs/{run_id}/picture.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    drawn = ElementTree.fromstring(answer.text)
    assert not [node for node in drawn.iter() if node.tag.endswith("script")]
    assert "⟨U+202E⟩" in "".join(drawn.itertext())
    assert "cost most" in "".join(drawn.itertext())


@pytest.mark.parametrize("what", ["otlp.json", "picture.svg", "rows", "parts"])
async def test_there_is_nothing_to_take_of_a_run_that_is_not_here(web: httpx.AsyncClient, what: str) -> None:
    assert (await web.get(f"/runs/{'0' * 32}-{'0' * 16}/{what}")).status_code == 404
    assert (await web.get(f"/runs/nonsense/{what}")).status_code == 404

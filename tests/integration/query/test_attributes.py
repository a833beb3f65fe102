"""Attributes that nothing keeps beside runs are found in their spans, by list, figures, facets and completion alike."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from ingest.decomposing import decompose_dirty
from ingest.models import Project
from ingest.read import attributes
from ingest.read.runs import RunFilter, find_runs
from ingest.scope import Scope
from tests.integration.otlp.messages import PROTOBUF, body, partial, span

pytestmark = pytest.mark.django_db(transaction=True)

TENANTS = ("acme", "acme", "bolt", None)
CASES: dict[str, set[int]] = {
    "attr.app.tenant:acme": {0, 1},
    "attr.app.tenant:a*": {0, 1},
    "attr.app.tenant:bolt,acme": {0, 1, 2},
    "attr.app.tenant:Acme": set(),
    "-attr.app.tenant:acme": {2, 3},
    "attr.app.tenant:*": {0, 1, 2},
    "-attr.app.tenant:*": {3},
    "attr.app.paid:true": {0, 1},
    "attr.app.retries>=2": {2, 3},
    "attr.app.retries:1..2": {1, 2},
    "attr.app.retries:3": {3},
    "attr.app.text>1": {2, 3},
    "attr.app.share:0.2": {1},
    "attr.app.flags:f2": {2},
    "attr.app.tenant:acme attr.app.retries:1": {1},
    "attr.app.tenant:acme model:other": set(),
    "attr.nothing:of-the-kind": set(),
}


@pytest.fixture
async def traces(web: httpx.AsyncClient) -> list[str]:
    """Runs of a call with a tool below it, which says for whom, how often and where; their trace ids."""
    sent = []
    for at, tenant in enumerate(TENANTS):
        root = span("chat m", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
        told: dict[str, Any] = {"app.retries": at, "app.share": at / 5, "app.text": str(at)}
        told |= {} if tenant is None else {"app.tenant": tenant, "app.paid": tenant == "acme"}
        below = span("POST", trace_id=root.trace_id, parent_span_id=root.span_id, attributes=told)
        flags = below.attributes.add(key="app.flags").value.array_value
        for flag in ("new", f"f{at}"):
            flags.values.add(string_value=flag)
        await send(web, root, below)
        sent.append(root.trace_id.hex())
    return sent


async def send(web: httpx.AsyncClient, *spans: Span) -> None:
    assert partial(await web.post("/v1/traces", content=body(*spans), headers=PROTOBUF)) == (0, "")
    await sync_to_async(decompose_dirty)(time.time_ns(), 10**9)


async def test_it_finds_what_spans_say(web: httpx.AsyncClient, traces: list[str]) -> None:
    for q, found in CASES.items():
        told = (await web.get("/api/v1/runs", params={"q": q})).json()
        assert {traces.index(run["trace_id"]) for run in told["runs"]} == found, q
        assert told["looked_from_unix_ns"] is None
        summary = (await web.get("/api/v1/summary", params={"q": q})).json()
        assert (summary["total"]["runs"]["count"], summary["made_from"]) == (len(found), "rows"), q


async def test_pages_follow_each_other_in_any_order(web: httpx.AsyncClient, traces: list[str]) -> None:
    for sort in ("newest", "slowest"):
        seen: list[str] = []
        cursor = None
        while True:
            asked = {"q": "attr.app.tenant:*", "limit": 1, "sort": sort} | ({"cursor": cursor} if cursor else {})
            told = (await web.get("/api/v1/runs", params=asked)).json()
            seen += [run["trace_id"] for run in told["runs"]]
            cursor = told["next_cursor"]
            if cursor is None:
                break
        assert sorted(seen) == sorted(traces[:3])


async def test_two_runs_of_a_trace_have_their_own_spans_attributes(web: httpx.AsyncClient) -> None:
    agent = {"gen_ai.operation.name": "invoke_agent"}
    top = span("request")
    runs = [
        span("agent", trace_id=top.trace_id, parent_span_id=top.span_id, attributes=agent | {"app.part": n})
        for n in (1, 2)
    ]
    await send(web, top, *runs)
    told = (await web.get("/api/v1/runs", params={"q": "attr.app.part:2"})).json()
    assert [run["run_id"] for run in told["runs"]] == [f"{top.trace_id.hex()}-{runs[1].span_id.hex()}"]


async def test_it_says_how_far_it_looked(project: Project, traces: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attributes, "FIRST_BATCH", 2)

    def look(budget_s: float, cursor: str | None = None) -> Any:
        wanted = RunFilter(q="attr.app.tenant:nobody", cursor=cursor)
        return find_runs(Scope(project_id=project.pk), wanted, time.time_ns(), budget_s)

    given_up = await sync_to_async(look)(0.0)
    assert given_up.looked_from_unix_ns is not None
    gone_on = await sync_to_async(look)(10.0, given_up.next_cursor)
    assert (gone_on.runs, gone_on.looked_from_unix_ns, gone_on.next_cursor) == ([], None, None)


async def test_completion_offers_names_and_values_of_spans(web: httpx.AsyncClient, traces: list[str]) -> None:
    async def offered(text: str) -> list[str]:
        told = (await web.get("/api/v1/completion", params={"text": text})).json()
        return [choice["insert"] for choice in told["choices"]]

    assert await offered("att") == ["attr."]
    assert "attr.app.tenant:" in await offered("attr.app.")
    assert await offered("attr.app.tenant:") == ["acme", "bolt"]


async def test_what_cannot_be_compared_is_refused_where_it_stands(web: httpx.AsyncClient) -> None:
    refused = await web.get("/api/v1/runs", params={"q": "attr.app.retries>many"})
    assert (refused.status_code, refused.json()["at"]) == (422, len("attr.app.retries>"))

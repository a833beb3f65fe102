"""Real agents and the engine that served them: what the API says of each call's engine is what was written down."""

from __future__ import annotations

import time
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import Client

from ingest.decomposing import decompose_dirty
from ingest.engines.pages import read_page
from ingest.engines.store import Claimed, Outcome, ScrapeStore
from ingest.models import EngineTarget, Project
from ingest.models.telemetry import Signal
from ingest.otlp.json_form import parse_json
from ingest.otlp.requests import Refusals, parse_protobuf
from ingest.otlp.split import split_traces
from ingest.partitions import ensure_partitions
from ingest.store import Store
from tests.captures import DATA, Capture, read_json

NS = 10**9
METRICS = DATA / "joined" / "metrics"
# One of each way in which an engine is found, and each state that is named.
CAPTURES = [
    "otel-genai-http-queue", "otel-genai-http-preemption", "otel-genai-http-cold-prefix", "otel-genai-noprop-queue",
    "otel-genai-http-client-abort", "openinference-noprop-parallel-tools", "otel-genai-http-too-long-retry",
]  # fmt: skip
# A chat span begins before its request is sent; a scrape that falls between the two counts on the other side.
LEAD_NS = 50_000_000


async def keep_session(database_url: str, target: EngineTarget) -> None:
    """The engine's pages of the whole session, as the scraper would have kept them."""
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as connection:
        store = ScrapeStore(connection)
        sample_ns: int | None = None
        stretch = 0
        for number, told in enumerate(read_json(METRICS / "index.json")):
            if not told["file"] or not (METRICS / told["file"]).exists():
                continue
            await connection.execute(
                "UPDATE ingest_engine_target SET claimed_until_unix_ns = %s WHERE id = %s", [number + 1, target.pk]
            )
            claimed = Claimed(
                id=target.pk, project_id=target.project_id, url=target.url, kind="auto", interval_ms=2_000,
                timeout_ms=1_000, credentials=None, tls={}, due_unix_ns=0, claimed_until_unix_ns=number + 1,
                stretch=stretch, sample_unix_ns=sample_ns,
            )  # fmt: skip
            reading = read_page((METRICS / told["file"]).read_bytes(), target="session")
            sample_ns = told["end_ns"]
            await store.keep([
                Outcome(target=claimed, at_unix_ns=sample_ns, took_ms=20, due_unix_ns=2**62, reading=reading)
            ])  # fmt: skip
            stretch = store.last[target.pk].stretch


@pytest.fixture
async def session(database_url: str, project: Project) -> EngineTarget:
    first_ns = read_json(METRICS / "index.json")[0]["end_ns"]
    await sync_to_async(ensure_partitions)(first_ns)
    target = await sync_to_async(EngineTarget.objects.create)(
        project=project, name="vllm-engine-0", url="http://127.0.0.1:8000/metrics", interval_ms=2_000
    )
    await keep_session(database_url, target)
    return target


async def runs_of(store: Store, project: Project, *captures: Capture) -> list[dict[str, Any]]:
    """The captures' runs as the API tells them, once they are decomposed."""
    for body in (body for capture in captures for body in capture.bodies):
        if body.signal == "traces":
            parse = parse_json if body.is_json else parse_protobuf
            await store.keep(
                project.pk, split_traces(parse(Signal.TRACES, body.content(), Refusals()), Refusals()), None
            )
    for _ in range(3):
        await sync_to_async(decompose_dirty)(time.time_ns(), 30 * NS)

    def asked() -> list[dict[str, Any]]:
        client = Client()
        found = client.get("/api/v1/runs?limit=200").json()["runs"]
        return [client.get(f"/api/v1/runs/{run['run_id']}").json() for run in found]

    return await sync_to_async(asked)()


async def test_each_calls_engine_state_is_the_one_written_down(
    session: EngineTarget, store: Store, project: Project, settings: Any
) -> None:
    settings.SIXSTAGE_OPEN = True
    captures = [Capture(DATA / "joined" / name) for name in CAPTURES]
    runs = await runs_of(store, project, *captures)
    await sync_to_async(connections.close_all)()
    calls = {call["span_id"]: call for run in runs for call in run["calls"]}
    assert [capture.name for capture in captures if not compared(capture, calls)] == []


def compared(capture: Capture, calls: dict[str, dict[str, Any]]) -> int:
    """How many calls of the capture were held against what was written down of them."""
    truth = read_json(capture.folder / "truth.json")["calls"]
    number = 0
    for told in read_json(capture.folder / "expected.json")["calls"]:
        call, state = calls.get(told["chat_span_id"]), told.get("engine_state")
        if call is None or not state or call["attempts"] > 1:
            continue
        sent_ns = truth[told["call"]]["request_sent_ns"]
        joined = call["engine_state"]
        assert joined["engine_name"] == "vllm-engine-0"
        assert joined["joined_by"] == ("engine span" if told["engine_span_ids"] else joined["joined_by"])
        expected = [m for m in state["during"] if m["at_s"] * NS < call["wall_ns"] - LEAD_NS]
        found = [m for m in joined["state"]["during"] if int(m["at_unix_ns"]) > sent_ns]
        assert [as_told(m, sent_ns) for m in found[: len(expected)]] == [without_file(m) for m in expected]
        assert as_told(joined["state"]["before"], sent_ns) == without_file(state["before"])
        number += 1
    return number


def as_told(moment: dict[str, Any] | None, start_ns: int) -> dict[str, Any] | None:
    if moment is None:
        return None
    at_s = round((int(moment["at_unix_ns"]) - start_ns) / 1e9, 3)
    kv_usage = round(moment["kv_usage"], 4)
    kept = {name: value for name, value in moment.items() if name not in ("at_unix_ns", "kv_usage")}
    return {"at_s": at_s, "kv_usage": kv_usage, **kept}


def without_file(told: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if told is None else {name: value for name, value in told.items() if name != "file"}


async def test_the_run_page_names_queueing_and_preemption(
    session: EngineTarget, store: Store, project: Project, settings: Any
) -> None:
    settings.SIXSTAGE_OPEN = True
    pages = []
    captures = [Capture(DATA / "joined" / f"otel-genai-http-{state}") for state in ("queue", "preemption")]
    for run in await runs_of(store, project, *captures):
        answer = await sync_to_async(Client().get)(f"/runs/{run['run_id']}")
        pages.append(answer.content.decode())
    await sync_to_async(connections.close_all)()
    text = "".join(pages)
    assert "queueing: 4 waiting, 4 running, KV cache 43" in text.replace("Queueing", "queueing")
    assert "preempting: 1 preempted, 1 waiting, 3 running" in text.replace("Preempting", "preempting")
    assert "Engines meanwhile" in text

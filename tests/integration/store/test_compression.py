"""Chunks are alike, so each project's are folded with a dictionary of its own traffic, and unfold for ever."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest import compression
from ingest.compression import SAMPLES_LEAST, drop_unused, train_due
from ingest.models import Dictionary, Project
from ingest.read.traces import trace_detail
from ingest.scope import Scope
from ingest.store import Store
from tests.integration.otlp.messages import span
from tests.integration.store.parts import parts

pytestmark = pytest.mark.django_db(transaction=True)

PROMPT = "You are a helpful agent of the shop. Answer in short sentences, and look orders up before you promise. " * 3
HOUR_NS, DAY_NS = 3_600 * 10**9, 86_400 * 10**9


def chatter(number: int) -> Any:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.system_instructions": PROMPT}
    return span("chat m", attributes=attributes | {"order": f"order-{number * 7919 % 100_003}"})


async def send(store: Store, project: Project, count: int) -> list[Any]:
    spans = [chatter(number) for number in range(count)]
    await store.keep(project.pk, parts(*spans), None)
    await asyncio.gather(*store.compressors.looking.values())  # for a newer dictionary, for the next batch
    return spans


@pytest.fixture
def looking_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "LOOK_S", 0.0)
    monkeypatch.setattr(compression, "LOOK_FIRST_S", 0.0)


async def trained(later_ns: int = 0) -> list[int]:
    return await sync_to_async(train_due)(time.time_ns() + later_ns)


async def readable(project: Project, sent: Any) -> bool:
    detail = await sync_to_async(trace_detail)(Scope(project_id=project.pk), sent.trace_id.hex(), True)
    return detail is not None and detail.spans[0].attributes["gen_ai.system_instructions"] == PROMPT


@pytest.mark.usefixtures("looking_at_once")
async def test_after_training_the_same_traffic_takes_less_and_all_of_it_is_read(
    store: Store, project: Project, rows: Any
) -> None:
    before = await send(store, project, SAMPLES_LEAST + 20)
    plain = rows("SELECT avg(length(body)) AS size FROM ingest_chunk")[0]["size"]

    assert await trained() == [project.pk]
    await send(store, project, 1)
    after = await send(store, project, 10)

    of_these = "SELECT avg(length(body)) AS size FROM ingest_chunk WHERE trace_id = ANY(%s)"
    with_it = rows(of_these, [sent.trace_id for sent in after])
    assert with_it[0]["size"] < 0.7 * float(plain)
    assert await readable(project, before[0])
    assert await readable(project, after[0])


async def test_with_few_chunks_there_is_nothing_to_learn(store: Store, project: Project) -> None:
    await send(store, project, 20)
    assert await trained() == []


async def test_the_first_dictionary_serves_an_hour_and_those_after_it_a_day(store: Store, project: Project) -> None:
    await send(store, project, SAMPLES_LEAST + 20)
    assert await trained() == [project.pk]
    assert await trained() == []
    assert await trained(HOUR_NS + 1) == [project.pk]
    assert await trained(3 * HOUR_NS) == []
    assert await trained(DAY_NS + 2 * HOUR_NS) == [project.pk]


async def test_traffic_that_teaches_nothing_is_left_alone_for_a_while(
    store: Store, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "GAIN_LEAST", 0.99)
    await send(store, project, SAMPLES_LEAST + 20)
    assert await trained() == []

    monkeypatch.setattr(compression, "GAIN_LEAST", 0.05)
    assert await trained() == []  # it would gain now, but nobody looks yet
    monkeypatch.setattr(compression, "_vain_until", {})
    assert await trained() == [project.pk]


@pytest.mark.usefixtures("looking_at_once")
async def test_projects_learn_apart(store: Store, project: Project, rows: Any) -> None:
    other = await Project.objects.acreate(slug="other", name="Other")
    await send(store, project, SAMPLES_LEAST + 20)
    await trained()
    await send(store, other, 1)

    sent = (await send(store, other, 1))[0]

    body = bytes(rows("SELECT body FROM ingest_chunk WHERE trace_id = %s", sent.trace_id)[0]["body"])
    assert compression.zstandard.get_frame_parameters(body).dict_id == 0
    assert await readable(other, sent)


async def test_only_what_nothing_kept_can_need_is_forgotten(project: Project) -> None:
    now_ns = time.time_ns()
    made = {"old": now_ns - 50 * DAY_NS, "newer": now_ns - 40 * DAY_NS, "newest": now_ns - 10 * DAY_NS}
    ids = {name: (await Dictionary.objects.acreate(project_id=project.pk, created_unix_ns=ns, body=b"x")).pk
           for name, ns in made.items()}  # fmt: skip

    assert await sync_to_async(drop_unused)(now_ns, 30) == 1

    assert {d.pk async for d in Dictionary.objects.all()} == {ids["newer"], ids["newest"]}


@pytest.mark.usefixtures("looking_at_once")
async def test_a_chunk_whose_dictionary_is_gone_says_so(store: Store, project: Project) -> None:
    await send(store, project, SAMPLES_LEAST + 20)
    await trained()
    await send(store, project, 1)
    sent = (await send(store, project, 1))[0]
    await Dictionary.objects.all().adelete()
    compression._dictionary.cache_clear()

    with pytest.raises(LookupError, match="dictionary"):
        await readable(project, sent)

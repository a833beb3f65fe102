"""Where no call was measured, the engine's own histograms may split a call: if they cover it, and are its engine's."""

from __future__ import annotations

import time
from array import array
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from ingest.decomposing import decompose_dirty
from ingest.engines.kept import fold
from ingest.engines.layout import Key, make_layout
from ingest.engines.store import day_of
from ingest.models import EngineLayout, EngineSample, EngineTarget, Project
from ingest.store import Store
from tests.integration.store.measured import unmeasured
from tests.integration.store.parts import IDLE_NS, SECOND_NS, parts

pytestmark = pytest.mark.django_db(transaction=True)

ESTIMATED, UNKNOWN = 3, 4
BOUNDS = (0.018, 0.022, 0.05, float("inf"))
LAYOUT = make_layout("vllm", [(Key("tpot", "m"), BOUNDS)])
CALL = "SELECT source, prefill_ns, decode_ns FROM ingest_call WHERE trace_id = %s"
BASIS = "SELECT basis FROM ingest_run WHERE trace_id = %s"


def engine(project: Project, name: str = "vllm-a", *, until_s: int = 0, requests: int = 40) -> None:
    """An engine that has written 20 ms a token for the last minute, as of ``until_s`` from now."""
    now_ns = time.time_ns() + until_s * SECOND_NS
    layout, _ = EngineLayout.objects.get_or_create(digest=LAYOUT.digest, defaults={"body": LAYOUT.as_json()})
    target = EngineTarget.objects.create(
        project=project, name=name, url=f"http://10.0.0.1/{name}", seen_kind="vllm", seen_models=["m"],
        sample_unix_ns=now_ns,
    )  # fmt: skip
    for number in range(13):
        count = requests * number / 12
        values = array("d", [0.0, count, count, count, count * 0.02, count])
        at_ns = now_ns - (12 - number) * 5 * SECOND_NS
        EngineSample.objects.create(
            at_unix_ns=at_ns, day=day_of(at_ns), project_id=project.pk, target_id=target.pk, layout_id=layout.pk,
            stretch=1, took_ms=1, breaks="" if number else "first", body=fold(values),
        )  # fmt: skip


async def decomposed(store: Store, project: Project, rows: Any) -> tuple[dict[str, Any], Any]:
    one = unmeasured()
    await store.keep(project.pk, parts(one), None)
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)
    await sync_to_async(connections.close_all)()
    return rows(CALL, one.trace_id)[0], rows(BASIS, one.trace_id)[0]["basis"]


async def test_a_call_is_split_by_its_engines_histogram(store: Store, project: Project, rows: Any) -> None:
    await sync_to_async(engine)(project)
    call, ((_, model, _, told),) = await decomposed(store, project, rows)
    assert call["source"] == ESTIMATED
    assert model == "m"
    assert told[0] == 20_000_000
    assert 18_000_000 <= told[1] <= told[0] <= told[2] <= 22_000_000
    assert told[3] == 40


async def test_not_by_one_of_two_that_serve_its_model(store: Store, project: Project, rows: Any) -> None:
    await sync_to_async(engine)(project)
    await sync_to_async(engine)(project, "vllm-b")
    assert (await decomposed(store, project, rows))[0]["source"] == UNKNOWN


async def test_not_by_samples_that_do_not_cover_it(store: Store, project: Project, rows: Any) -> None:
    await sync_to_async(engine)(project, until_s=-200)
    assert (await decomposed(store, project, rows))[0]["source"] == UNKNOWN


async def test_not_by_too_few_requests(store: Store, project: Project, rows: Any) -> None:
    await sync_to_async(engine)(project, requests=4)
    assert (await decomposed(store, project, rows))[0]["source"] == UNKNOWN


async def test_not_by_another_projects_engine(store: Store, project: Project, rows: Any) -> None:
    await sync_to_async(engine)(await Project.objects.acreate(slug="other", name="Other"))
    assert (await decomposed(store, project, rows))[0]["source"] == UNKNOWN

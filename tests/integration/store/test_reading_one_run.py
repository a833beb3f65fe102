"""A run is read whole, also while it is decomposed again."""

from __future__ import annotations

import time
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from ingest.decomposing import decompose_dirty
from ingest.models import Project
from ingest.read import run as reading
from ingest.scope import Scope
from ingest.store import Store
from tests.integration.store.parts import IDLE_NS, call, parts

pytestmark = pytest.mark.django_db(transaction=True)


async def test_calls_are_those_of_the_run_that_was_read(
    store: Store, project: Project, rows: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    span = call()
    await store.keep(project.pk, parts(span), None)
    await sync_to_async(decompose_dirty)(time.time_ns(), IDLE_NS)
    select = reading.select

    def after_another_pass(sql: str, parameters: list[Any]) -> list[dict[str, Any]]:
        if "FROM ingest_call" in sql:
            rows("UPDATE ingest_call SET span_id = %s RETURNING 1", bytes(8))
        return select(sql, parameters)

    monkeypatch.setattr(reading, "select", after_another_pass)
    run_id = f"{span.trace_id.hex()}-{span.span_id.hex()}"
    run = await sync_to_async(reading.run_detail)(Scope(project_id=project.pk), run_id, time.time_ns())
    assert run is not None
    assert [one.span_id for one in run.calls] == [span.span_id.hex()]

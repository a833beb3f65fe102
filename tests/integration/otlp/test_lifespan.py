"""The web process opens its receiver when it starts and closes it when it ends."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from asgiref.testing import ApplicationCommunicator

from dashboard.asgi import application
from ingest.models import Project
from tests.integration.otlp.messages import PROTOBUF, body, partial, span

pytestmark = pytest.mark.django_db(transaction=True)


async def test_spans_are_taken_between_start_up_and_shutdown(
    database_url: str, project: Project, settings: Any, rows: Any
) -> None:
    settings.SIXSTAGE_DATABASE_URL = database_url
    life = ApplicationCommunicator(application, {"type": "lifespan"})
    await life.send_input({"type": "lifespan.startup"})
    assert await life.receive_output(10) == {"type": "lifespan.startup.complete"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://localhost") as web:
        assert partial(await web.post("/v1/traces", content=body(span()), headers=PROTOBUF)) == (0, "")
    await life.send_input({"type": "lifespan.shutdown"})
    assert await life.receive_output(10) == {"type": "lifespan.shutdown.complete"}
    await life.wait(10)
    assert len(rows("SELECT 1 FROM ingest_chunk")) == 1
    assert application.receiver is None

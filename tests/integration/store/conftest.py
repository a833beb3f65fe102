from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from ingest.rollups.verifying import verify


@pytest.fixture(autouse=True)
async def rollups_are_what_rows_add_up_to(
    request: pytest.FixtureRequest, the_threads_connections_end: None
) -> AsyncIterator[None]:
    """After every test here, whatever it did: workers side by side, dead ones, spans late or twice, recomputation."""
    yield
    if "store" in request.fixturenames:
        assert await sync_to_async(lambda: [str(one) for one in verify()])() == []


@pytest.fixture(autouse=True)
async def the_threads_connections_end() -> AsyncIterator[None]:
    yield
    await sync_to_async(connections.close_all)()

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from ingest.engines.scraping import Scraper, Settings
from ingest.models import EngineTarget, Project
from ingest.outbound.addresses import Policy
from tests.integration.engines.served import Served, serving

KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
Target = Callable[..., EngineTarget]


@pytest.fixture
def served() -> Iterator[Served]:
    with serving() as server:
        yield server


@pytest.fixture
def target(project: Project) -> Target:
    def make(url: str, name: str = "vllm-a", **given: Any) -> EngineTarget:
        return EngineTarget.objects.create(project=project, name=name, url=url, **{"timeout_ms": 3_000} | given)

    return make


@pytest.fixture
async def scraper(database_url: str) -> AsyncIterator[Scraper]:
    settings = Settings(database_url=database_url, policy=Policy(loopback=True), encryption_key=KEY)
    async with Scraper(settings) as scraper:
        yield scraper
    await sync_to_async(connections.close_all)()

"""Integration tests run on a real PostgreSQL and a real Valkey; requests go through the ASGI app in-process."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import httpx
import psycopg
import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from dashboard.asgi import application
from ingest.models import Project
from ingest.otlp.keys import Keys
from ingest.otlp.receiver import Receiver
from ingest.partitions import ensure_partitions
from ingest.store import Store

HOME = "http://localhost:8000"
Rows = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        ensure_partitions(time.time_ns())
    connection.ops.sql_flush = _empty_tables  # type: ignore[method-assign]


def _empty_tables(_style: Any, tables: Sequence[str], **_options: Any) -> list[str]:
    """Between tests. Truncating makes new files for every partition and index; few rows are faster deleted."""
    return [f'DELETE FROM "{table}"' for table in tables]


@pytest.fixture
def database_url(transactional_db: None) -> str:
    """libpq's words for the test's own database."""
    known = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    given = connection.settings_dict
    parts = {key: given[name] for key, name in known.items() if given.get(name)}
    return make_conninfo("", **parts, **given["OPTIONS"])


@pytest.fixture
def rows(database_url: str) -> Iterator[Rows]:
    """Asks the database directly, also from within async tests."""
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as direct:
        yield lambda sql, *parameters: direct.execute(sql, parameters).fetchall()


@pytest.fixture
def project(transactional_db: None) -> Project:
    return Project.objects.create(slug="alpha", name="Alpha")


@pytest.fixture
async def store(database_url: str, project: Project) -> AsyncIterator[Store]:
    async with Store(database_url, 64 << 20, lambda _: None, gather_ns=0) as store:
        yield store


@pytest.fixture
async def receiver(store: Store, settings: Any) -> AsyncIterator[Receiver]:
    """The receiver inside the web process, writing to the test's database."""
    application.receiver = Receiver(store, Keys(store.pool, settings.SIXSTAGE_OPEN))
    yield application.receiver
    application.receiver = None


@pytest.fixture
async def web(receiver: Receiver) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the whole web process: gate, OTLP and pages."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url=HOME) as client:
        yield client
    await sync_to_async(connections.close_all)()

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings

from ingest.observing import measures, refusals
from ingest.observing.refusals import REFUSED, Seen
from ingest.observing.reporter import Reporter
from ingest.observing.samples import grown, taken, total


@pytest.fixture
def counted() -> Callable[..., float]:
    """How much a figure has grown since the test began."""
    before = taken(measures.REGISTRY)
    return lambda name, **labels: total(grown(taken(measures.REGISTRY), before), name, **labels)


@pytest.fixture
def valkey() -> Iterator[redis.Redis]:
    REFUSED.take()
    with redis.Redis.from_url(django_settings.SIXSTAGE_REDIS_URL) as client:
        client.delete(*client.keys("sixstage:refused*"), "sixstage:refused")
        yield client


@pytest.fixture
def reporter(database_url: str, settings: Any) -> Iterator[Reporter]:
    reporter = Reporter("web", database_url, settings.SIXSTAGE_REDIS_URL)
    yield reporter
    reporter.close()


@pytest.fixture
def last_refused(valkey: redis.Redis, reporter: Reporter) -> Callable[[], list[Seen]]:
    """What people are shown, after this process has told what it refused."""

    def last() -> list[Seen]:
        reporter.tell_refusals()
        return refusals.last(valkey)

    return last

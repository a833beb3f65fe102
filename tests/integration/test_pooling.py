"""Requests of the web process share connections, and outlive the server's restarts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from django.db import connection

from dashboard.pooling import pooled_connections

pytestmark = pytest.mark.django_db(transaction=True)


def _as_a_request() -> int:
    """What a request does: a thread of its own, a question, and the connection is let go. Returns the server's pid."""

    def ask() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid = int(cursor.fetchone()[0])
        connection.close()
        return pid

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(ask).result(20)


def test_requests_take_over_the_connections_of_others() -> None:
    with pooled_connections():
        assert len({_as_a_request() for _ in range(6)}) <= 2  # the pool may have begun with two


def test_without_it_each_connects_anew() -> None:
    assert len({_as_a_request() for _ in range(3)}) == 3


def test_a_connection_that_the_server_has_closed_is_not_handed_out(database_url: str) -> None:
    with pooled_connections(), psycopg.connect(database_url) as other:
        pids = {_as_a_request() for _ in range(6)}
        other.execute("SELECT pg_terminate_backend(pid, 5000) FROM unnest(%s) AS pid", [list(pids)])
        assert _as_a_request() not in pids

"""Which failures are the database's own, and which lie in what a trace holds."""

from __future__ import annotations

import django.db
import psycopg
import pytest

from ingest.trouble import is_the_databases


@pytest.mark.parametrize(
    ("error", "its"),
    [
        (psycopg.OperationalError("server closed the connection unexpectedly"), True),
        (psycopg.InterfaceError("the connection is closed"), True),
        (psycopg.errors.AdminShutdown("terminating connection"), True),
        (psycopg.errors.DeadlockDetected("deadlock"), True),
        (psycopg.errors.ProgramLimitExceeded("index row size 2712 exceeds maximum"), False),
        (psycopg.errors.OutOfMemory("failed on request of size 900000000"), False),
        (psycopg.errors.CheckViolation("run_stages_add_up"), False),
        (ValueError("odd"), False),
    ],
)
def test_what_lies_in_the_data_is_not_the_databases(error: Exception, its: bool) -> None:
    assert is_the_databases(error) is its


@pytest.mark.parametrize(
    ("cause", "its"),
    [
        (psycopg.errors.CannotConnectNow("the database system is starting up"), True),
        (psycopg.errors.ProgramLimitExceeded("index row size 2712 exceeds maximum"), False),
        (None, True),
    ],
)
def test_djangos_own_error_is_what_caused_it(cause: Exception | None, its: bool) -> None:
    wrapped = django.db.OperationalError("told by Django")
    wrapped.__cause__ = cause
    assert is_the_databases(wrapped) is its

"""Several questions to the database that are answered by the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction


@contextmanager
def snapshot() -> Iterator[Any]:
    """A cursor whose statements, and those of others on Django's connection meanwhile, all see the same rows.

    A trace can be decomposed again between two questions: a run of before with calls of after is neither.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        if not connection.savepoint_ids:  # inside another's transaction (of a test, say) nobody else writes
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield cursor

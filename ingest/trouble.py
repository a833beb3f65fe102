"""Which failures are the database's own. They say nothing about the traces that were being worked on."""

from __future__ import annotations

import django.db
import psycopg

# SQLSTATE classes: connection lost, deadlock, no resources (the disk is full), not available, an operator's
# intervention (a restart), input or output. 54, a limit exceeded, is an OperationalError too, but of the data.
CLASSES = ("08", "40", "53", "55", "57", "58")
READ_ONLY = "25006"
# What a trace can bring about by its size; were it not counted, such a trace would be tried for ever.
BY_DATA = ("53200", "57014")  # out of memory, cancelled for its time


def is_the_databases(error: BaseException | None) -> bool:
    """Whether the same work may succeed once the database is well again."""
    while error is not None:
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            state = error.sqlstate
            # Without a state the server has said nothing: the connection is gone.
            return state is None or state == READ_ONLY or (state.startswith(CLASSES) and state not in BY_DATA)
        if not isinstance(error, django.db.OperationalError | django.db.InterfaceError):
            return False
        if error.__cause__ is None:
            return True
        error = error.__cause__
    return False

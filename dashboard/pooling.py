"""Connections of the web process, shared by its requests.

Under ASGI each request has a thread of its own, and Django would connect anew in each: to a server process that has
read no catalog yet, which costs as much as a small page's questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, connections

# One stays when all is quiet: each IDLE_S one that nobody needed is closed, since a server process that has read the
# catalog of all partitions holds 5 to 13 MB. A request that finds none free waits, and fails in words after TIMEOUT_S.
KEEP, MOST, IDLE_S, TIMEOUT_S = 1, 20, 2.0, 15.0


@contextmanager
def pooled_connections() -> Iterator[None]:
    """Have Django take its connections from a pool. Each is looked at before its use: the server may have restarted."""
    database = connections.settings["default"]
    before = database["OPTIONS"], database["CONN_HEALTH_CHECKS"]
    pool = {"min_size": KEEP, "max_size": MOST, "max_idle": IDLE_S, "timeout": TIMEOUT_S}
    database["OPTIONS"], database["CONN_HEALTH_CHECKS"] = before[0] | {"pool": pool}, True
    try:
        yield
    finally:
        connection.close_pool()
        database["OPTIONS"], database["CONN_HEALTH_CHECKS"] = before

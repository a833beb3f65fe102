"""Reading what is stored: the one query by which traces' chunks are fetched."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator
from typing import Any

import psycopg
from django.db import connection

from ingest.models.telemetry import Signal

Place = tuple[bytes, int, dt.date]  # trace id, project id, day

READ_CHUNKS = """
    SELECT chunk.trace_id, chunk.project_id, chunk.signal, chunk.body
    FROM unnest(%(trace_ids)b::bytea[], %(project_ids)b::int[], %(days)b::date[]) AS wanted (trace_id, project_id, day)
    JOIN ingest_chunk AS chunk USING (trace_id, project_id, day)
    WHERE chunk.signal = ANY(%(signals)b::smallint[])
    ORDER BY chunk.received_unix_ns, chunk.digest
"""


def leave_broken_connection() -> None:
    """Forget Django's connection if its end is known. Django itself looks only at errors of its own cursors."""
    if connection.connection is not None and connection.connection.closed:
        connection.close()


def direct_cursor() -> psycopg.Cursor[tuple[Any, ...]]:
    """A cursor on Django's connection, in its transaction, with arrays bound by the server and prepared statements.

    Django binds in the client: each pass would write hundreds of ids into its statements and have them parsed anew.
    """
    connection.ensure_connection()
    return psycopg.Cursor(connection.connection)


def read_bodies(places: Collection[Place], *signals: Signal) -> Iterator[tuple[bytes, int, int, bytes]]:
    """(trace id, project id, signal, body) of the traces' chunks, in the order of their receipt."""
    with direct_cursor() as cursor:
        cursor.execute(
            READ_CHUNKS,
            {
                "trace_ids": [trace_id for trace_id, _, _ in places],
                "project_ids": [project_id for _, project_id, _ in places],
                "days": [day for _, _, day in places],
                "signals": [int(signal) for signal in signals],
            },
            prepare=True,
            binary=True,
        )
        yield from cursor.fetchall()

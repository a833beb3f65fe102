"""How long a connection may keep us waiting. Uvicorn's protocol waits for ever for a request's headers, and for ever
for a client to read its answer; each such client would hold a socket until there are none left for others.

Given to uvicorn as its HTTP protocol (``--http ingest.otlp.connections:PatientProtocol``). Knows nothing of OTLP.
"""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 20.0  # from the connection, or the first byte of a further request, to the end of its headers
UNREAD_S = 30.0  # how long an answer may wait to be read
OPEN_MOST = 8192
SPARE_FILES = 128  # for the database, the broker, logs
KEEP_ALIVE_S = 75  # longer than exporters' usual intervals, so that none meets a connection that is just closing


def allow_many_files() -> int:
    """Raise this process's own limit of open files as far as it may go; returns what it is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_MOST + SPARE_FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return OPEN_MOST + SPARE_FILES if soft == resource.RLIM_INFINITY else soft


class PatientProtocol(HttpToolsProtocol):
    """Closes what is silent for too long. When there are too many connections, the one that has waited the longest
    for its next request goes first."""

    _idle: dict[PatientProtocol, None] = {}
    _most: int | None = None

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._headers_due: asyncio.TimerHandle | None = None
        self._reading_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if PatientProtocol._most is None:
            PatientProtocol._most = min(OPEN_MOST, max(64, allow_many_files() - SPARE_FILES))
        self._idle[self] = None
        self._headers_due = self.loop.call_later(HEADERS_S, self._give_up)
        if len(self.connections) > PatientProtocol._most:
            next(iter(self._idle))._give_up()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._headers_due is None:
            self._headers_due = self.loop.call_later(HEADERS_S, self._give_up)

    def on_headers_complete(self) -> None:
        self._idle.pop(self, None)
        self._forget_headers()
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self._idle[self] = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading_due is None:
            self._reading_due = self.loop.call_later(UNREAD_S, self._give_up, True)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.pop(self, None)
        self._forget_headers()
        self._forget_reading()
        super().connection_lost(exc)

    def _give_up(self, unread: bool = False) -> None:
        """Close, or where an answer is not read, and closing would wait for that, drop it."""
        self._idle.pop(self, None)
        self._forget_headers()
        self._forget_reading()
        if self.transport is not None:
            self.transport.abort() if unread else self.transport.close()

    def _forget_headers(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _forget_reading(self) -> None:
        if self._reading_due is not None:
            self._reading_due.cancel()
            self._reading_due = None

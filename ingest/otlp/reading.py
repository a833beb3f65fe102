"""Bodies as they come in: how long one may take, and how much all of them together may hold.

A client that sends a byte a second, or many that each send half of a large body, must not hold up the others: who
is too slow is not waited for, and when the room is used up the body that has been coming for the longest goes first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ingest.otlp.errors import BodyTooLarge, Overloaded, TooSlow

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

PIECE_S = 30.0  # the longest wait for the next piece of a body
GRACE_S = 30.0  # what any body may take
LINGER_S = 3.0
SLOWEST_BYTES_S = 64 << 10  # how fast it must come, on the whole, after that


class ClientGone(Exception):
    """The client left before its body was complete; there is nobody to answer."""


class _Reader:
    __slots__ = ("evicted", "size", "timeout")

    def __init__(self, timeout: asyncio.Timeout) -> None:
        self.timeout, self.size, self.evicted = timeout, 0, False


class ReadingRoom:
    """Reads bodies. ``held_bytes`` is what has come of those that are not complete."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self._readers: dict[_Reader, None] = {}  # in the order in which they began

    async def read(self, receive: Receive, announced: str | None, body_limit_bytes: int) -> bytes:
        """The whole body. Raises BodyTooLarge, TooSlow, Overloaded, or ClientGone."""
        if announced and announced.isdigit() and int(announced) > body_limit_bytes:
            raise _too_large(body_limit_bytes)
        loop = asyncio.get_running_loop()
        began = loop.time()
        reader = None
        try:
            async with asyncio.timeout(min(PIECE_S, GRACE_S)) as timeout:
                reader = _Reader(timeout)
                self._readers[reader] = None
                parts: list[bytes] = []
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    if reader.evicted:
                        raise TimeoutError
                    part = message.get("body", b"")
                    if reader.size + len(part) > body_limit_bytes:
                        raise _too_large(body_limit_bytes)
                    parts.append(part)
                    self._hold(reader, len(part))
                    if not message.get("more_body"):
                        return parts[0] if len(parts) == 1 else b"".join(parts)
                    until = began + GRACE_S + reader.size / SLOWEST_BYTES_S
                    timeout.reschedule(min(loop.time() + PIECE_S, until))
        except TimeoutError:
            if reader is not None and reader.evicted:
                raise self._full() from None
            size = reader.size if reader else 0
            raise TooSlow(
                f"the body came too slowly: {size} bytes in {loop.time() - began:.0f} s; send smaller batches"
            ) from None
        finally:
            if reader is not None and self._readers.pop(reader, self) is None:
                self.held_bytes -= reader.size

    def _hold(self, reader: _Reader, size: int) -> None:
        reader.size += size
        self.held_bytes += size
        while self.held_bytes > self.limit_bytes and len(self._readers) > 1:
            oldest = next(iter(self._readers))
            if oldest is reader:
                raise self._full()
            del self._readers[oldest]
            self.held_bytes -= oldest.size
            oldest.evicted = True
            oldest.timeout.reschedule(0)

    def _full(self) -> Overloaded:
        return Overloaded("too many bodies come in at once, and this one for the longest; send again", 2, closes=True)


async def throw_away(receive: Receive) -> None:
    """Read on for a moment without keeping anything, until the client has seen its answer and leaves."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while (message := await receive())["type"] == "http.request" and message.get("more_body"):
                pass


def _too_large(limit_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"the body is over {limit_bytes >> 20} MiB; send smaller batches or raise SIXSTAGE_BODY_LIMIT_MIB", closes=True
    )

"""Clients that never finish what they began do not stop others: on a real server, with real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import uvicorn

from dashboard.asgi import application
from ingest.otlp import connections, reading
from ingest.otlp.connections import PatientProtocol
from ingest.otlp.receiver import Receiver
from tests.integration.otlp.messages import PROTOBUF, body, partial, span
from tests.ports import free_ports

pytestmark = pytest.mark.django_db(transaction=True)
POST = b"POST /v1/traces HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-protobuf\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


LONG = {"begun": 0, "ended": 0}


async def with_a_long_answer(scope: Any, receive: Any, send: Any) -> None:
    """The application, and an answer of 64 MiB under a path of its own."""
    if scope["path"] != "/long":
        return await application(scope, receive, send)
    LONG["begun"] += 1
    length = (b"content-length", b"%d" % (64 << 20))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    for number in range(1, 65):
        await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": number < 64})
    LONG["ended"] += 1
    return None


@pytest.fixture
async def port(receiver: Receiver) -> AsyncIterator[int]:
    """Where the web process's application listens, with the protocol that it is started with."""
    port = int(free_ports()["SIXSTAGE_OTLP_HTTP_PORT"])
    config = uvicorn.Config(
        with_a_long_answer, "127.0.0.1", port, http=PatientProtocol, lifespan="off", log_level="error",
        backlog=4096, timeout_graceful_shutdown=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    serving = asyncio.create_task(server._serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield port
    server.should_exit = True
    await serving


@pytest.fixture
async def sockets(port: int) -> AsyncIterator[Opener]:
    opener = Opener(port)
    yield opener
    await opener.close()


class Opener:
    """Opens raw connections and closes them after the test."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.writers: list[asyncio.StreamWriter] = []

    async def __call__(self, first: bytes = b"") -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        writer.write(first)
        return reader, writer

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self.writers), return_exceptions=True)


async def others_go_on(port: int) -> float:
    """A good request is taken; how long it took."""
    began = time.monotonic()
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", timeout=20) as web:
        assert partial(await web.post("/v1/traces", content=body(span()), headers=PROTOBUF)) == (0, "")
    return time.monotonic() - began


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patience of a second where the product has half a minute."""
    monkeypatch.setattr(connections, "HEADERS_S", 1.0)
    monkeypatch.setattr(reading, "GRACE_S", 1.0)


async def ended(reader: asyncio.StreamReader, within_s: float) -> bool:
    """Whether the other side ends the connection in time, politely or not."""
    with contextlib.suppress(ConnectionError):
        await asyncio.wait_for(reader.read(), within_s)
    return True


async def drip(writer: asyncio.StreamWriter, piece: bytes = b"x") -> None:
    """A byte now and then, until the other side has had enough."""
    try:
        while True:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.1)
    except OSError:
        pass


@pytest.fixture
def in_time() -> float:
    """What a test may wait for something that is due after a second."""
    return 15.0


async def test_a_body_of_a_byte_now_and_then_is_not_waited_for(
    port: int, sockets: Opener, hurried: None, in_time: float, receiver: Receiver
) -> None:
    reader, writer = await sockets(POST + b"content-length: 1000000\r\n\r\n")
    dripping = asyncio.create_task(drip(writer))
    answer = await asyncio.wait_for(reader.read(), in_time)
    dripping.cancel()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"too slowly" in answer
    assert b"connection: close" in answer
    assert receiver.reading.held_bytes == 0
    await others_go_on(port)


@pytest.mark.parametrize("first", [b"", b"POST /v1/tra", POST], ids=["nothing", "half a line", "half the headers"])
async def test_headers_that_do_not_come_are_not_waited_for(
    sockets: Opener, hurried: None, in_time: float, first: bytes
) -> None:
    reader, writer = await sockets(first)
    dripping = asyncio.create_task(drip(writer) if first else asyncio.sleep(60))
    assert await ended(reader, in_time)
    dripping.cancel()


async def test_the_next_requests_headers_are_not_waited_for_either(
    sockets: Opener, hurried: None, in_time: float
) -> None:
    content = body(span())
    reader, writer = await sockets(POST + b"content-length: %d\r\n\r\n%b" % (len(content), content))
    assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    dripping = asyncio.create_task(drip(writer, b"P"))
    assert await ended(reader, in_time)
    dripping.cancel()


async def test_a_client_that_never_reads_its_answer_is_let_go(
    port: int, sockets: Opener, in_time: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "UNREAD_S", 1.0)
    began = LONG["ended"]
    for _ in range(20):
        _, writer = await sockets(b"GET /long HTTP/1.1\r\nhost: localhost\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]
    async with asyncio.timeout(in_time):
        while LONG["begun"] < began + 20:
            await asyncio.sleep(0.01)
    assert await others_go_on(port) < 5
    async with asyncio.timeout(in_time):
        while LONG["ended"] < began + 20:
            await asyncio.sleep(0.01)


@pytest.mark.slow
async def test_2000_slow_connections_stop_nobody(port: int, sockets: Opener) -> None:
    kinds = (b"", b"POST /v1/tra", POST, POST + b"content-length: 1000\r\n\r\nhalf")
    for start in range(0, 2000, 100):
        await asyncio.gather(*(sockets(kinds[number % 4]) for number in range(start, start + 100)))
    took_s = [await others_go_on(port) for _ in range(10)]
    assert sorted(took_s)[5] < 1.0


async def test_with_too_many_connections_the_longest_idle_goes_first(
    port: int, sockets: Opener, in_time: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PatientProtocol, "_most", 20)
    monkeypatch.setattr(PatientProtocol, "_idle", {})
    opened = [await sockets() for _ in range(20)]
    await others_go_on(port)
    assert await ended(opened[0][0], in_time)
    assert not opened[-1][0].at_eof()


async def test_half_sent_large_bodies_make_room_for_others(
    port: int, sockets: Opener, in_time: float, receiver: Receiver
) -> None:
    receiver.reading.limit_bytes = 8 << 20
    large = POST + b"content-length: %d\r\n\r\n" % (32 << 20)
    readers = []
    for _ in range(5):
        reader, writer = await sockets(large + bytes(3 << 20))
        await writer.drain()
        readers.append(reader)
    answer = await asyncio.wait_for(readers[0].read(), in_time)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: " in answer
    await others_go_on(port)
    assert receiver.reading.held_bytes <= 8 << 20


async def test_one_body_alone_may_be_larger_than_the_room(port: int, receiver: Receiver) -> None:
    receiver.reading.limit_bytes = 1000
    large = body(span("x" * 500_000))
    async with httpx.AsyncClient(base_url=f"http://localhost:{port}", timeout=20) as web:
        assert partial(await web.post("/v1/traces", content=large, headers=PROTOBUF)) == (0, "")
    assert receiver.reading.held_bytes == 0

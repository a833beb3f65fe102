"""The address that is connected to is the one that was checked, whatever the name server says next time."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from ingest.outbound.addresses import Policy
from ingest.outbound.fetching import Fetcher, FetchFailed

Serve = Callable[[bytes], Any]
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


class Server:
    def __init__(self) -> None:
        self.answer = OK + b"content-length: 2\r\n\r\nhi"
        self.requests: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(self.answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.port = listening.sockets[0].getsockname()[1]
    async with listening:
        yield made


async def fetched(url: str, policy: Policy, limit: int = 1000, timeout_s: float = 5) -> bytes:
    fetcher = Fetcher(policy)
    try:
        return (await fetcher.fetch(url, timeout_s=timeout_s, limit_bytes=limit)).body
    finally:
        await fetcher.close()


async def failure(url: str, policy: Policy, **bounds: Any) -> FetchFailed:
    with pytest.raises(FetchFailed) as failed:
        await fetched(url, policy, **bounds)
    return failed.value


def leads_to(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> None:
    """A name server that answers so, one after the other; the last for ever."""
    left = list(answers)

    async def told(self: Any, host: str, port: int, **_: Any) -> Any:
        addresses = left.pop(0) if len(left) > 1 else left[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop().__class__, "getaddrinfo", told)


async def test_a_name_that_leads_to_this_machine_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, ["127.0.0.1"])
    failed = await failure(f"http://engine.example:{server.port}/", Policy())
    assert failed.why == "refused_address"
    assert server.requests == []


async def test_the_name_is_not_asked_a_second_time(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebinding name is good when it is checked and bad when it is connected to: there is no such second time."""
    leads_to(monkeypatch, ["127.0.0.1"], ["169.254.169.254"])
    assert await fetched(f"http://engine.example:{server.port}/", Policy(allowed=("127.0.0.1",))) == b"hi"
    assert b"host: engine.example" in server.requests[0].lower()


async def test_metadata_behind_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, ["10.0.0.1", "169.254.169.254"])
    assert (await failure("http://metadata.example/", Policy(loopback=True))).why == "refused_address"


async def test_a_redirect_to_another_host_is_not_followed(server: Server) -> None:
    server.answer = b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n"
    failed = await failure(f"http://127.0.0.1:{server.port}/", Policy(loopback=True))
    assert failed.why == "redirect"
    assert len(server.requests) == 1


async def test_a_redirect_in_circles_ends(server: Server) -> None:
    server.answer = b"HTTP/1.1 302 Found\r\nlocation: /again\r\ncontent-length: 0\r\n\r\n"
    assert (await failure(f"http://127.0.0.1:{server.port}/", Policy(loopback=True))).why == "redirect"
    assert len(server.requests) == 4


async def test_a_small_answer_that_unfolds_to_much_is_too_large(server: Server) -> None:
    folded = gzip.compress(b"a" * 100_000)
    server.answer = OK + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(folded) + folded
    assert (await failure(f"http://127.0.0.1:{server.port}/", Policy(loopback=True))).why == "too_large"
    assert await fetched(f"http://127.0.0.1:{server.port}/", Policy(loopback=True), limit=200_000) == b"a" * 100_000


async def test_an_announced_size_over_the_limit_is_not_read(server: Server) -> None:
    server.answer = OK + b"content-length: 99999999\r\n\r\n"
    assert (await failure(f"http://127.0.0.1:{server.port}/", Policy(loopback=True))).why == "too_large"


async def test_nobody_there_and_no_such_host_are_unreachable(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (await failure("http://127.0.0.1:1/", Policy(loopback=True))).why == "unreachable"

    async def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop().__class__, "getaddrinfo", unknown)
    failed = await failure("http://no.such.example/", Policy())
    assert (failed.why, "cannot be found" in str(failed)) == ("unreachable", True)


async def test_a_connection_that_was_closed_meanwhile_is_made_anew(server: Server) -> None:
    """As servers do that keep connections for as long as we wait between two scrapes."""
    server.answer = OK + b"content-length: 2\r\n\r\nhi"  # and it closes, without having said so
    fetcher = Fetcher(Policy(loopback=True))
    for _ in range(3):
        told = await fetcher.fetch(f"http://127.0.0.1:{server.port}/", timeout_s=5, limit_bytes=1000)
        assert told.body == b"hi"
    await fetcher.close()


async def test_proxies_of_the_environment_have_no_part_in_it(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert await fetched(f"http://127.0.0.1:{server.port}/", Policy(loopback=True)) == b"hi"

"""GET with every bound: where to, how long, how much, and which redirects. The address that is connected to is the
one that was checked, since the check stands between the name server's answer and the connection."""

from __future__ import annotations

import asyncio
import socket
import ssl
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import httpcore
import httpx

from ingest.outbound.addresses import Policy, RefusedAddress, check_addresses, check_url

MOST_REDIRECTS = 3
KEPT_OPEN_S = 30.0
MOST_KEPT_OPEN = 20  # of one server
MOST_SERVERS = 1_000


class FetchFailed(Exception):
    """``why`` is one of refused_address, unreachable, timeout, status, redirect, too_large, broken_off, tls, error."""

    def __init__(self, why: str, text: str) -> None:
        super().__init__(text)
        self.why = why


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """``ca`` are certificates (PEM) to be trusted beside the system's; without ``verify`` nobody is asked for one."""

    verify: bool = True
    ca: str = ""

    def context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        if self.ca:
            context.load_verify_locations(cadata=self.ca)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    body: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Resolves names itself, checks all that they lead to, and connects to nothing else."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.plain = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = check_addresses(host, [str(info[4][0]) for info in found], self.policy)
        trouble: Exception | None = None
        for address in addresses:
            try:
                return await self.plain.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                trouble = error
        raise trouble or httpcore.ConnectError(f"{host} has no address")

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise RefusedAddress("sockets of this machine are no targets")

    async def sleep(self, seconds: float) -> None:
        await self.plain.sleep(seconds)


class CheckedTransport(httpx.AsyncHTTPTransport):
    def __init__(self, policy: Policy, context: ssl.SSLContext) -> None:
        super().__init__(verify=context, trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=context, max_connections=None, max_keepalive_connections=MOST_KEPT_OPEN,
            keepalive_expiry=KEPT_OPEN_S, network_backend=CheckedNetwork(policy),
        )  # fmt: skip


class Fetcher:
    """One for an event loop; keeps connections open between fetches, apart for each server and set of TLS options.

    A pool looks at each of its connections for each request, so one for all servers would cost their number squared.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._contexts: dict[Tls, ssl.SSLContext] = {}
        self._transports: OrderedDict[tuple[str, str, Tls], CheckedTransport] = OrderedDict()

    async def close(self) -> None:
        while self._transports:
            await self._transports.popitem()[1].aclose()

    async def _transport(self, url: SplitResult, tls: Tls) -> CheckedTransport:
        key = (url.scheme, url.netloc, tls)
        found = self._transports.get(key)
        if found is None:
            found = self._transports[key] = CheckedTransport(self.policy, self._context(tls))
            if len(self._transports) > MOST_SERVERS:
                await self._transports.popitem(last=False)[1].aclose()
        self._transports.move_to_end(key)
        return found

    def _context(self, tls: Tls) -> ssl.SSLContext:
        if tls not in self._contexts:
            try:
                self._contexts[tls] = tls.context()
            except (ssl.SSLError, ValueError) as error:
                raise FetchFailed("tls", f"the certificates to be trusted cannot be read: {error}") from None
        return self._contexts[tls]

    async def fetch(
        self, url: str, *, headers: Mapping[str, str] | None = None, tls: Tls | None = None, timeout_s: float,
        limit_bytes: int,
    ) -> Fetched:  # fmt: skip
        """The body of a 200 answer, whole. Raises FetchFailed."""
        try:
            async with asyncio.timeout(timeout_s):
                return await self._follow(url, dict(headers or {}), tls or Tls(), limit_bytes)
        except TimeoutError:
            raise FetchFailed("timeout", f"no whole answer within {timeout_s:g} s") from None
        except RefusedAddress as error:
            raise FetchFailed("refused_address", str(error)) from None
        except httpx.TransportError as error:
            raise failed(error) from None
        except OSError as error:  # the name server's answer
            raise FetchFailed("unreachable", f"the host cannot be found: {error.strerror or error}") from None
        except (httpx.InvalidURL, httpx.HTTPError, UnicodeError, ValueError) as error:
            raise FetchFailed("error", str(error)[:300] or type(error).__name__) from None

    async def _follow(self, url: str, headers: dict[str, str], tls: Tls, limit_bytes: int) -> Fetched:
        headers = {"user-agent": "sixstage", "accept-encoding": "identity"} | headers
        for _ in range(MOST_REDIRECTS + 1):
            transport = await self._transport(check_url(url, self.policy), tls)
            answer = await _asked(transport, httpx.Request("GET", url, headers=headers))
            try:
                if answer.has_redirect_location:
                    url = _same_place(url, answer.headers["location"])
                    continue
                if answer.status_code != 200:
                    raise FetchFailed("status", f"answers {answer.status_code} {answer.reason_phrase}".strip())
                body = await _body(answer, limit_bytes)
                return Fetched(body=body, content_type=answer.headers.get("content-type", ""))
            finally:
                await answer.aclose()
        raise FetchFailed("redirect", f"redirects more than {MOST_REDIRECTS} times")


async def _asked(transport: CheckedTransport, request: httpx.Request) -> httpx.Response:
    """A server may close a connection that lay open at the very moment in which it is used again: one more try."""
    try:
        return await transport.handle_async_request(request)
    except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
        return await transport.handle_async_request(request)


def _same_place(url: str, location: str) -> str:
    """Where a redirect leads, if that is the same server. Raises FetchFailed."""
    led = urljoin(url, location)
    before, after = urlsplit(url), urlsplit(led)
    if (before.scheme, before.netloc) != (after.scheme, after.netloc):
        raise FetchFailed("redirect", f"redirects to another host, {after.netloc[:200]}, which is not followed")
    return led


async def _body(answer: httpx.Response, limit_bytes: int) -> bytes:
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity", "gzip"):
        raise FetchFailed("error", f"answers in the encoding {encoding[:40]}, which was not asked for")
    if int(answer.headers.get("content-length") or 0) > limit_bytes:
        raise FetchFailed("too_large", _too_large(limit_bytes))
    parts, size = [], 0
    async for part in answer.aiter_raw():
        size += len(part)
        if size > limit_bytes:
            raise FetchFailed("too_large", _too_large(limit_bytes))
        parts.append(part)
    body = b"".join(parts)
    return _gunzip(body, limit_bytes) if encoding == "gzip" else body


def _gunzip(body: bytes, limit_bytes: int) -> bytes:
    unfold = zlib.decompressobj(31)
    try:
        whole = unfold.decompress(body, limit_bytes + 1)
    except zlib.error:
        raise FetchFailed("broken_off", "the answer's compression is broken") from None
    if len(whole) > limit_bytes:
        raise FetchFailed("too_large", _too_large(limit_bytes))
    if not unfold.eof:
        raise FetchFailed("broken_off", "the answer breaks off in the middle")
    return whole


def _too_large(limit_bytes: int) -> str:
    return f"the answer is larger than {limit_bytes >> 20} MiB"


def failed(error: httpx.TransportError) -> FetchFailed:
    said = str(error)[:300] or type(error).__name__
    if isinstance(error, httpx.TimeoutException):
        return FetchFailed("timeout", "no connection in time")
    if isinstance(error, httpx.RemoteProtocolError | httpx.ReadError):
        return FetchFailed("broken_off", f"the answer breaks off: {said}")
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return FetchFailed("tls", f"the connection cannot be secured: {said}")
        if isinstance(cause, RefusedAddress):
            return FetchFailed("refused_address", str(cause))
        cause = cause.__cause__ or cause.__context__
    return FetchFailed("unreachable", f"nobody answers there: {said}")

"""POST with every bound, to addresses that people give: checked as for fetching, no redirects, no second try.

A connection is made for each request, so that none breaks because it lay idle: whether a request arrived is the
receiver's to say, and who sends it again does so under the same id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

from ingest.outbound.addresses import Policy, RefusedAddress, check_url
from ingest.outbound.fetching import CheckedTransport, FetchFailed, Tls, failed

LIMIT_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """An answer, whatever its status; of its body no more than the first 64 KiB."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


async def post(
    policy: Policy, url: str, body: bytes, *, headers: Mapping[str, str], timeout_s: float, tls: Tls | None = None
) -> Posted:
    """Raises FetchFailed where there is no answer; then it may have arrived nevertheless."""
    try:
        async with asyncio.timeout(timeout_s):
            check_url(url, policy)
            async with CheckedTransport(policy, (tls or Tls()).context()) as transport:
                request = httpx.Request(
                    "POST", url, content=body, headers={"user-agent": "sixstage", "connection": "close", **headers}
                )
                answer = await transport.handle_async_request(request)
                try:
                    return Posted(status=answer.status_code, body=await _head(answer), headers=dict(answer.headers))
                finally:
                    await answer.aclose()
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


async def _head(answer: httpx.Response) -> bytes:
    parts, size = [], 0
    async for part in answer.aiter_raw():
        parts.append(part)
        size += len(part)
        if size > LIMIT_BYTES:
            break
    return b"".join(parts)[:LIMIT_BYTES]

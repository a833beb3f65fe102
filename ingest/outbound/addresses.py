"""Which addresses may be connected to.

Private ranges may: engines live there. Link-local addresses may not (clouds hand out credentials on them), nor may this
machine's own, unless the instance is one person's on that machine or the address is listed.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from ingest.frozen import Frozen

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Where clouds answer questions about their machines, beside the link-local ranges.
METADATA = frozenset(
    map(ipaddress.ip_address, ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"))
)
THIS_NETWORK = ipaddress.IPv4Network("0.0.0.0/8")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
LONGEST_URL = 2_000


class RefusedAddress(ValueError):
    """What was given may not be reached; the text says why, for people."""


class Policy(Frozen, frozen=True, kw_only=True):
    """``loopback`` opens this machine to all, ``allowed`` (names, addresses, networks) only what is listed of it."""

    loopback: bool = False
    allowed: tuple[str, ...] = ()


def read_url(url: str) -> SplitResult:
    """The URL's parts. Raises RefusedAddress for what is no http or https address of a host."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        raise RefusedAddress("this is no URL") from None
    if len(url) > LONGEST_URL or any(c.isspace() or not c.isprintable() for c in url.strip()):
        raise RefusedAddress("this is no URL")
    if parts.scheme not in ("http", "https"):
        raise RefusedAddress("a URL begins with http:// or https://")
    if not parts.hostname or port == 0:
        raise RefusedAddress("the URL names no host")
    if parts.username is not None or parts.password is not None:
        raise RefusedAddress("the URL holds a user or password; give them as credentials")
    return parts


def check_url(url: str, policy: Policy) -> SplitResult:
    """The URL's parts, after a look at what can be told without asking a name server. Raises RefusedAddress.

    What a name leads to is looked at when it is connected to (``fetching.py``).
    """
    parts = read_url(url)
    host = parts.hostname or ""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        if host.rstrip(".").lower() == "localhost" and not _opens_loopback(host, None, policy):
            raise RefusedAddress(_LOOPBACK) from None
    else:
        check_address(host, address, policy)
    return parts


def check_addresses(host: str, addresses: Sequence[str], policy: Policy) -> list[str]:
    """The addresses that a name leads to, if all may be connected to. Raises RefusedAddress.

    All must: a name with one good and one bad address is not to be trusted.
    """
    if not addresses:
        raise RefusedAddress(f"{host} has no address")
    for told in addresses:
        check_address(host, ipaddress.ip_address(told.partition("%")[0]), policy)
    return list(dict.fromkeys(addresses))


def check_address(host: str, address: Address, policy: Policy) -> None:
    """Raises RefusedAddress. ``host`` is the name that led there."""
    for one in (address, *_within(address)):
        if one in METADATA or one.is_link_local:
            raise RefusedAddress(f"{one} is link-local or a cloud's metadata address, which no target may be")
        if one.is_loopback:
            if not _opens_loopback(host, one, policy):
                raise RefusedAddress(_LOOPBACK)
        elif one in THIS_NETWORK or one.is_unspecified or one.is_multicast or (one.is_reserved and not _wraps(one)):
            raise RefusedAddress(f"{one} is no address of a host")


_LOOPBACK = "this address is the instance's own machine; list it in SIXSTAGE_ALLOWED_TARGETS if it should be reached"


def _opens_loopback(host: str, address: Address | None, policy: Policy) -> bool:
    if policy.loopback:
        return True
    return any(_fits(listed, host, address) for listed in policy.allowed)


def _fits(listed: str, host: str, address: Address | None) -> bool:
    try:
        return address is not None and address in ipaddress.ip_network(listed, strict=False)
    except ValueError:
        return listed.lower().rstrip(".") == host.lower().rstrip(".")


def _within(address: Address) -> list[Address]:
    """IPv4 addresses that an IPv6 address is a wrapping of: whoever connects to it may end there."""
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour, (address.teredo or (None, None))[1]]
    if address in NAT64 or 1 < int(address) < 1 << 32:
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [one for one in found if one is not None]


def _wraps(address: Address) -> bool:
    """IPv4 within IPv6 counts as reserved; what it wraps is looked at by itself."""
    return isinstance(address, ipaddress.IPv6Address) and bool(_within(address))

"""The gate before everything: a request must be addressed to one of our names and come from one of our pages.

It keeps other sites' scripts out of an instance that trusts its own machine (DNS rebinding, cross-site
requests). There is no CORS here: no foreign origin is ever allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit


def refusal(host: str | None, origin: str | None, allowed_hosts: Sequence[str]) -> str | None:
    """Why a request is refused, or None. ``host`` and ``origin`` are the headers' values.

    ``allowed_hosts`` holds host names without a port; ``.example.org`` allows subdomains, ``*`` everything.
    """
    name = host_name(host or "")
    if not _allowed(name, allowed_hosts):
        return f"the host {name[:100]!r} is not one of this instance; add it to SIXSTAGE_ALLOWED_HOSTS if it should be"
    if origin is None:
        return None
    if not _same_site(origin, host or ""):
        return f"requests from the origin {origin[:100]!r} are not taken; only this instance's own pages may send them"
    return None


def _same_site(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def host_name(host: str) -> str:
    """The name in a Host header, without its port, in lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


def _allowed(name: str, allowed_hosts: Sequence[str]) -> bool:
    for pattern in allowed_hosts:
        pattern = pattern.lower()
        if pattern in ("*", name) or (pattern.startswith(".") and (name.endswith(pattern) or name == pattern[1:])):
            return bool(name)
    return False

"""The simulated engines made known to a Sixstage on this machine, so that it scrapes them. Nothing depends on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import httpx

from agents.telemetry.export import is_loopback

NAMES = ("sim-engine-70b", "sim-engine-coder")  # as their spans call them


def own_api(endpoint: str, environ: Mapping[str, str]) -> str | None:
    """The API of the instance that the spans go to; None where that is not on this machine, or nobody says where its
    pages are: another instance's must not be meant."""
    usual = urlsplit(endpoint).port == 4318
    if not is_loopback(endpoint) or not (usual or environ.get("SIXSTAGE_PORT")):
        return None
    host = environ.get("SIXSTAGE_HOST") or "127.0.0.1"
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)
    return f"http://{host}:{environ.get('SIXSTAGE_PORT') or '8000'}/api/v1/engines"


async def register(api: str | None, pages: Sequence[str]) -> bool:
    """Whether all of them are targets now. An instance that wants a log-in, or is none, is left alone."""
    if api is None:
        return False
    try:
        async with httpx.AsyncClient(trust_env=False, timeout=5) as client:
            told = (await client.get(api)).raise_for_status().json()
            known = {engine["name"]: engine["id"] for engine in told["engines"]}
            for name, page in zip(NAMES, pages, strict=True):
                given = {"name": name, "url": page, "enabled": True, "labels": {"simulated": "yes"}}
                if name in known:
                    answer = await client.patch(f"{api}/{known[name]}", json=given)
                else:
                    answer = await client.post(api, json=given)
                answer.raise_for_status()
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return False
    return True

"""Which project a request sends to, by its key."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ingest.models.project import IngestKey, secret_digest
from ingest.otlp.errors import NoKey, StoreUnavailable

CACHED_S = 10.0
RULES = "project.id, project.spans_per_s, project.bytes_per_day, project.keep_payload"
FIND_KEY = f"""
    SELECT {RULES} FROM ingest_ingestkey AS key JOIN ingest_project AS project ON project.id = key.project_id
    WHERE key.digest = %s AND key.revoked_at IS NULL
"""
FIRST_PROJECT = f"SELECT {RULES} FROM ingest_project AS project ORDER BY project.id LIMIT 1"


@dataclass(frozen=True, slots=True)
class Rules:
    """A project and what it may send. None is no limit."""

    project_id: int
    spans_per_s: int | None = None
    bytes_per_day: int | None = None
    keep_payload: bool = True


def secret_in(headers: Mapping[str, str]) -> str | None:
    """The key in ``Authorization: Bearer`` or ``x-api-key``, or as either half of HTTP Basic (some SDKs send
    a public and a secret key; ours goes into one of them)."""
    if key := headers.get("x-api-key"):
        return key.strip()
    scheme, _, credential = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return credential.strip() or None
    if scheme.lower() == "basic":
        try:
            user, _, password = base64.b64decode(credential, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return None
        return password if password.startswith("sxi_") or not user.startswith("sxi_") else user
    return None


class Keys:
    """Looks keys up in the database and remembers the answer for a few seconds, so a revoked key soon ends and a
    changed limit soon holds.

    On an open instance a request without a key sends to the first project.
    """

    def __init__(self, pool: AsyncConnectionPool, open_instance: bool) -> None:
        self.pool, self.open_instance = pool, open_instance
        self._known: dict[str | None, tuple[float, Rules | None]] = {}

    async def rules_of(self, headers: Mapping[str, str]) -> Rules:
        """Raises NoKey, or StoreUnavailable when the answer is not to be had now."""
        secret = secret_in(headers)
        if self.open_instance and secret and not secret.startswith(IngestKey.PREFIX):
            secret = None  # another product's key, which its SDK insists on sending
        if secret is None and not self.open_instance:
            raise NoKey("an ingest key is needed: send it as 'Authorization: Bearer sxi_…' or 'x-api-key: sxi_…'")
        until, rules = self._known.get(secret, (0.0, None))
        if until < time.monotonic():
            rules = await self._look_up(secret)
            if len(self._known) > 1000:
                self._known.clear()
            self._known[secret] = (time.monotonic() + CACHED_S, rules)
        if rules is None:
            hint = "; on this open instance none is needed, leave it out" if self.open_instance else ""
            raise NoKey(f"this ingest key is unknown or revoked (a read token, sxr_…, cannot send){hint}")
        return rules

    async def _look_up(self, secret: str | None) -> Rules | None:
        try:
            async with self.pool.connection() as connection:
                if secret is None:
                    found = await connection.execute(FIRST_PROJECT)
                else:
                    found = await connection.execute(FIND_KEY, [secret_digest(secret)])
                row = await found.fetchone()
        except (psycopg.Error, PoolTimeout, OSError) as error:
            raise StoreUnavailable("the database is not reachable; send again in two seconds") from error
        return Rules(*row) if row else None

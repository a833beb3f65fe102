"""Which project a request sends to, by its key."""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Mapping

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from ingest.models.project import IngestKey, secret_digest
from ingest.otlp.errors import NoKey, StoreUnavailable

CACHED_S = 10.0
FIND_KEY = "SELECT project_id FROM ingest_ingestkey WHERE digest = %s AND revoked_at IS NULL"
FIRST_PROJECT = "SELECT id FROM ingest_project ORDER BY id LIMIT 1"


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
    """Looks keys up in the database and remembers the answer for a few seconds, so a revoked key soon ends.

    On an open instance a request without a key sends to the first project.
    """

    def __init__(self, pool: AsyncConnectionPool, open_instance: bool) -> None:
        self.pool, self.open_instance = pool, open_instance
        self._known: dict[str | None, tuple[float, int | None]] = {}

    async def project_of(self, headers: Mapping[str, str]) -> int:
        """Raises NoKey, or StoreUnavailable when the answer is not to be had now."""
        secret = secret_in(headers)
        if self.open_instance and secret and not secret.startswith(IngestKey.PREFIX):
            secret = None  # another product's key, which its SDK insists on sending
        if secret is None and not self.open_instance:
            raise NoKey("an ingest key is needed: send it as 'Authorization: Bearer sxi_…' or 'x-api-key: sxi_…'")
        until, project_id = self._known.get(secret, (0.0, None))
        if until < time.monotonic():
            project_id = await self._look_up(secret)
            if len(self._known) > 1000:
                self._known.clear()
            self._known[secret] = (time.monotonic() + CACHED_S, project_id)
        if project_id is None:
            hint = "; on this open instance none is needed, leave it out" if self.open_instance else ""
            raise NoKey(f"this ingest key is unknown or revoked (a read token, sxr_…, cannot send){hint}")
        return project_id

    async def _look_up(self, secret: str | None) -> int | None:
        try:
            async with self.pool.connection() as connection:
                if secret is None:
                    found = await connection.execute(FIRST_PROJECT)
                else:
                    found = await connection.execute(FIND_KEY, [secret_digest(secret)])
                row = await found.fetchone()
        except (psycopg.Error, PoolTimeout, OSError) as error:
            raise StoreUnavailable("the database is not reachable; send again in two seconds") from error
        return row[0] if row else None

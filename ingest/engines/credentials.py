"""What a target's server wants to be shown, kept encrypted (Fernet: AES-128-CBC and HMAC-SHA256)."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from cryptography.fernet import Fernet, InvalidToken

LONGEST = 4_000


class CredentialsRefused(ValueError):
    """They cannot be kept or read; the text says why, for people."""


class Scheme(StrEnum):
    BEARER = "bearer"
    BASIC = "basic"
    HEADER = "header"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """``name`` is the user of Basic, or the header's name; a bearer token has none."""

    scheme: Scheme
    secret: str
    name: str = ""

    def headers(self) -> dict[str, str]:
        if self.scheme is Scheme.BEARER:
            return {"Authorization": f"Bearer {self.secret}"}
        if self.scheme is Scheme.BASIC:
            return {"Authorization": "Basic " + base64.b64encode(f"{self.name}:{self.secret}".encode()).decode()}
        return {self.name: self.secret}


def read_credentials(scheme: str, secret: str, name: str = "") -> Credentials:
    """Raises CredentialsRefused for what could not be sent in a header."""
    try:
        told = Credentials(scheme=Scheme(scheme), secret=secret, name=name)
    except ValueError:
        raise CredentialsRefused(f"credentials are one of {', '.join(Scheme)}") from None
    if not secret or len(secret) > LONGEST or not (secret.isascii() and secret.isprintable()):
        raise CredentialsRefused("a secret is visible ASCII characters")
    if told.scheme is Scheme.BASIC and (not name.isprintable() or ":" in name or len(name) > LONGEST):
        raise CredentialsRefused("a user name holds no colon and no control characters")
    if told.scheme is Scheme.HEADER and not (len(name) <= 100 and name.isascii() and name.replace("-", "").isalnum()):
        raise CredentialsRefused("a header's name is letters, digits and hyphens")
    return told


def encrypt(told: Credentials, key: str) -> bytes:
    """Raises CredentialsRefused where the instance has no key to encrypt with."""
    return _fernet(key).encrypt(json.dumps(asdict(told)).encode())


def decrypt(kept: bytes, key: str) -> Credentials:
    """Raises CredentialsRefused, of what was encrypted with another key too."""
    try:
        told = json.loads(_fernet(key).decrypt(bytes(kept)))
    except InvalidToken:
        raise CredentialsRefused("the credentials were encrypted with another key; enter them again") from None
    return Credentials(scheme=Scheme(told["scheme"]), secret=told["secret"], name=told["name"])


def _fernet(key: str) -> Fernet:
    if not key:
        raise CredentialsRefused("set SIXSTAGE_ENCRYPTION_KEY to keep credentials: 32 random bytes in URL-safe base64")
    try:
        return Fernet(key)
    except ValueError:
        raise CredentialsRefused("SIXSTAGE_ENCRYPTION_KEY is not 32 bytes in URL-safe base64") from None

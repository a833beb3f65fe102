"""Secrets that are made once and kept beside the data that they protect."""

import base64
import os
import re
from pathlib import Path

from dashboard.embedded.errors import StartError


def kept_secret(data_dir: Path | str, name: str) -> str:
    """The secret of that name, made on first use: 32 random bytes in URL-safe base64, as Fernet wants."""
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise ValueError(f"{name!r} is no name for a secret: small letters, digits, - and _")
    folder = Path(data_dir).expanduser().resolve() / "secrets"
    path = folder / name
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            _create(path)
        return path.read_text(encoding="ascii").strip()
    except PermissionError as error:
        raise StartError(
            f"{error.filename} belongs to another user. Run as that user, or set SIXSTAGE_DATA_DIR to a"
            " directory of your own."
        ) from None


def _create(path: Path) -> None:
    """Write whole, then link into place: of several processes that start together the first one wins."""
    secret = base64.urlsafe_b64encode(os.urandom(32))
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secret[:8].decode()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(secret + b"\n")
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()

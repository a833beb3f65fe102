"""Makes the private directories of an instance, and refuses those that are not its own."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from dashboard.embedded.account import Account
from dashboard.embedded.errors import StartError
from dashboard.embedded.places import Places

ELSEWHERE = "or choose another: SIXSTAGE_DATA_DIR=/path/to/an/empty/directory make up"


def claim_data_dir(places: Places) -> None:
    """Make the data directory, or make sure that an existing one is ours; changes nothing of one in use."""
    folder = places.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = set(os.listdir(folder))
    except FileExistsError:
        raise StartError(f"data directory {folder} is a file. Move it away, {ELSEWHERE}") from None
    except OSError as error:
        raise StartError(
            f"data directory {folder} cannot be used ({error.strerror}). Change its owner, {ELSEWHERE}"
        ) from None
    if names and not names & {places.lock.name, "secrets"}:
        # /tmp or a home, say: closing it to others or filling it would harm whoever uses it
        raise StartError(f"data directory {folder} holds other files. Give Sixstage one of its own, {ELSEWHERE}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise StartError(f"data directory {folder} is not ours to write in. Change its owner, {ELSEWHERE}")


def open_for(places: Places, account: Account | None) -> None:
    """Let PostgreSQL's user pass through the data directory (by its group), and make what it holds."""
    folder = places.data_dir
    owner = folder.stat().st_uid
    passes_by = account is not None and owner != account.uid
    if account is not None and passes_by:
        os.chown(folder, -1, account.gid)
    if os.geteuid() in (0, owner):
        folder.chmod(0o710 if passes_by else 0o700)
    for inner in (places.logs, places.beat):
        inner.mkdir(mode=0o700, exist_ok=True)
    _private(places.run, account)


def close(places: Places) -> None:
    """Take away what lies outside the data directory, once the servers are gone."""
    if not places.run.is_relative_to(places.data_dir):
        with suppress(OSError):
            places.run.rmdir()


def _private(folder: Path, account: Account | None) -> None:
    """A directory of that user alone. Under /tmp its name can be guessed, so what is there may be a trap."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    owners = {os.geteuid(), account.uid if account else os.geteuid()}
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in owners or stat.S_IMODE(found.st_mode) & 0o022:
        raise StartError(
            f"{folder}, where the sockets go, belongs to somebody else. Remove it, or set SIXSTAGE_DATA_DIR"
            " to a shorter path so that they fit inside the data directory."
        )
    if account is not None:
        os.chown(folder, account.uid, account.gid)
    folder.chmod(0o700)

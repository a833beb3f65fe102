"""Who the embedded PostgreSQL runs as. It refuses to run as root, and we create no users."""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.embedded.errors import StartError

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


@dataclass(frozen=True)
class Account:
    """An unprivileged user of this machine."""

    name: str
    uid: int
    gid: int

    def popen(self) -> dict[str, Any]:
        """What to give to subprocess so that it gives up root for good, extra groups included."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


def own_name() -> str:
    """The name of the user we are, as peer authentication will see it."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise StartError(
            f"user id {os.geteuid()} has no entry in /etc/passwd, which PostgreSQL needs. Add one"
            " (a container image can do so when it starts), or set SIXSTAGE_DATABASE_URL to your server."
        ) from None


def server_account(cluster: Path) -> Account | None:
    """The user for PostgreSQL when we are root; None when we are an ordinary user, as whom it can run.

    First choice is whoever owns the cluster already, then the owner of the folder around the data directory
    (`sudo make up` in somebody's clone), then nobody.
    """
    if os.geteuid() != 0:
        return None
    if cluster.exists():
        return _of_uid(cluster.stat().st_uid) or nobody()
    around = cluster.parent.parent
    while not around.exists():
        around = around.parent
    return _of_uid(around.stat().st_uid) or nobody()


def _of_uid(uid: int) -> Account | None:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid) if entry.pw_uid else None


def nobody() -> Account:
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        raise StartError(
            "PostgreSQL refuses to run as root and this machine has no user `nobody` to run it as. Start"
            " Sixstage as an ordinary user, or set SIXSTAGE_DATABASE_URL."
        ) from None
    # macOS gives nobody the uid -2
    return Account(entry.pw_name, entry.pw_uid % 2**32, entry.pw_gid % 2**32)


def succeeds_as(account: Account | None, argv: Sequence[str]) -> bool:
    """Whether that user can run this command: asks the system itself, so access lists and mounts count."""
    try:
        done = subprocess.run(
            argv,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd="/",
            timeout=30,
            check=False,
            **(account.popen() if account else {}),
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def can_enter(account: Account | None, folder: Path) -> bool:
    return succeeds_as(account, ["/bin/sh", "-c", 'cd "$1"', "sh", str(folder)])

"""Another user of this machine, for tests of what works as root and as an ordinary user."""

import os
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dashboard.embedded.account import can_enter, nobody, succeeds_as

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Person:
    """How to run Python as somebody."""

    python: str
    env: dict[str, str]
    popen: dict[str, Any]


def ordinary_user(home: Path) -> Person:
    """Ourselves, or when we are root somebody who is not; with a home of their own and nothing else."""
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    if os.geteuid() != 0:
        return Person(sys.executable, env, {})
    account = nobody()
    if not can_enter(account, ROOT):
        pytest.skip(f"{ROOT} cannot be entered by {account.name}")
    os.chown(home, account.uid, account.gid)
    if succeeds_as(account, [sys.executable, "-c", ""]):
        return Person(sys.executable, env, account.popen())
    # Our interpreter lies in a closed home: the system's own of the same version can use our packages.
    system = f"/usr/bin/python3.{sys.version_info.minor}"
    if not succeeds_as(account, [system, "-c", ""]):
        pytest.skip(f"no Python 3.{sys.version_info.minor} that {account.name} can run")
    # The packages were chosen for our patch version; redis asks for this one on a Python before 3.11.3.
    (home / "packages").mkdir()
    (home / "packages" / "async_timeout.py").write_text("from asyncio import timeout\n")
    packages = f"{sysconfig.get_path('purelib')}:{home / 'packages'}"
    return Person(system, {**env, "PYTHONPATH": packages}, account.popen())

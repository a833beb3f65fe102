"""Secrets that an embedded instance makes for itself."""

import base64
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashboard.embedded import kept_secret


def test_it_is_made_once_and_is_for_its_owner_only(tmp_path: Path) -> None:
    first = kept_secret(tmp_path / "data", "secret-key")
    assert kept_secret(tmp_path / "data", "secret-key") == first
    assert kept_secret(tmp_path / "data", "encryption-key") != first
    for path in (tmp_path / "data" / "secrets", tmp_path / "data" / "secrets" / "secret-key"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def test_it_serves_as_an_encryption_key(tmp_path: Path) -> None:
    key = kept_secret(tmp_path, "encryption-key")
    assert len(base64.b64decode(key, altchars=b"-_", validate=True)) == 32


def test_all_who_start_together_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: kept_secret(tmp_path, "key"), range(32)))
    assert len(secrets) == 1
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["key"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", "Ä"])
def test_a_name_is_no_path(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        kept_secret(tmp_path, name)

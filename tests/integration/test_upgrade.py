"""A store that an earlier release has filled, under this one's code (tests/tools/keep_version.py kept it)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.tools.keep_version import UPGRADE, answers_of, program

RELEASES = sorted(UPGRADE.glob("*.dump"))


@pytest.fixture(params=RELEASES, ids=lambda path: path.stem)
def release(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@pytest.fixture
def restored(database_url: str, release: Path) -> Iterator[str]:
    """The URL of a database that holds what the release had stored."""
    name = f"upgrade_{uuid4().hex}"
    with psycopg.connect(database_url, autocommit=True) as beside:
        beside.execute(f'CREATE DATABASE "{name}"')
        told = conninfo_to_dict(database_url)
        url = f"postgresql://{told['user']}@/{name}?host={told['host']}"
        try:
            program("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={url}", str(release))
            yield url
        finally:
            beside.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_what_a_release_has_stored_is_read_as_it_was_and_computed_again_to_the_same(
    release: Path, restored: str
) -> None:
    kept = json.loads(release.with_suffix(".json").read_bytes())

    migrated, computed_again = answers_of(restored, "--upgrade")
    assert migrated.keys() == kept.keys()
    for path, answer in kept.items():
        assert _of_then(migrated[path], answer) == answer, path
    assert computed_again == migrated


def _of_then(now: Any, then: Any) -> Any:
    """What is told now, without fields that came later."""
    if isinstance(then, dict):
        return {name: _of_then(now[name], value) for name, value in then.items() if name in now}
    if isinstance(then, list) and len(then) == len(now):
        return [_of_then(one, value) for one, value in zip(now, then, strict=True)]
    return now

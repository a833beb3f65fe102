"""Where an instance's things lie."""

import subprocess
import sys
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from dashboard.embedded import Places, urls
from dashboard.embedded.places import MAX_SOCKET_PATH

ROOT = Path(__file__).resolve().parents[3]


def test_it_computes_urls_without_touching_anything(tmp_path: Path) -> None:
    database_url, redis_url = urls(tmp_path / "data")
    assert conninfo_to_dict(database_url) == {
        "host": str(Places.of(tmp_path / "data").run),
        "user": "sixstage",
        "dbname": "sixstage",
    }
    assert redis_url.startswith("unix:///")
    assert list(tmp_path.iterdir()) == []


def test_a_short_path_keeps_its_sockets_inside() -> None:
    assert urls("/srv/six") == (
        "postgresql://sixstage@/sixstage?host=/srv/six/run",
        "unix:///srv/six/run/valkey.sock",
    )


def test_a_long_path_has_its_sockets_under_tmp_and_finds_them_again() -> None:
    long = Path("/srv") / ("x" * 90)
    run = Places.of(long).run
    assert run.parent == Path("/tmp")
    assert run == Places.of(f"{long}/../{long.name}").run
    assert run != Places.of(f"{long}y").run
    assert len(bytes(Places.of(long).valkey_socket)) <= MAX_SOCKET_PATH


def test_odd_characters_survive_in_the_urls() -> None:
    database_url, redis_url = urls("/srv/a b%?&ü")
    assert conninfo_to_dict(database_url)["host"] == "/srv/a b%?&ü/run"
    assert redis_url == "unix:///srv/a%20b%25%3F%26%C3%BC/run/valkey.sock"


def test_it_needs_no_django() -> None:
    code = (
        "import sys, dashboard.embedded, dashboard.up;"
        "sys.exit(any(name.split('.')[0] in ('django', 'celery') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

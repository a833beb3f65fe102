"""The embedded PostgreSQL and Valkey, for real."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from dashboard.embedded import Places, StartError, services
from dashboard.embedded.account import can_enter, server_account
from tests.people import ROOT, ordinary_user

QUICK = {"fsync": False}


def first_column(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query).fetchone()  # type: ignore[arg-type]
    assert row
    return row[0]


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement)  # type: ignore[arg-type]


def eventually(url: str, query: str) -> object:
    until_s = time.monotonic() + 20
    while True:
        try:
            return first_column(url, query)
        except psycopg.OperationalError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.05)


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def gone(*pids: int, within_s: float = 10) -> bool:
    until_s = time.monotonic() + within_s
    while any(map(alive, pids)) and time.monotonic() < until_s:
        time.sleep(0.05)
    return not any(map(alive, pids))


@contextmanager
def supervisor(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "dashboard.up", "--services-only", "--no-fsync"]
    env = {key: value for key, value in os.environ.items() if not key.startswith("SIXSTAGE_")}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**env, "SIXSTAGE_DATA_DIR": str(data_dir)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline().startswith("SIXSTAGE_DATABASE_URL=postgresql://")
            assert process.stdout.readline().startswith("SIXSTAGE_REDIS_URL=unix://")
            yield process
        finally:
            process.kill()


def test_a_second_start_finds_the_data_and_durable_settings(tmp_path: Path) -> None:
    with services(tmp_path / "data") as (database_url, redis_url):
        execute(database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
        with redis.from_url(redis_url) as valkey:
            assert valkey.ping()
    with services(tmp_path / "data") as again:
        assert again == (database_url, redis_url)
        assert first_column(database_url, "SELECT answer FROM kept") == 42
        shown = "SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings WHERE name IN "
        assert first_column(database_url, f"{shown} ('fsync', 'full_page_writes', 'synchronous_commit')") == "on on on"


def test_nothing_listens_on_a_network_and_only_our_user_gets_in(tmp_path: Path) -> None:
    with services(tmp_path / "data", **QUICK) as (database_url, redis_url):
        assert first_column(database_url, "SHOW listen_addresses") == ""
        assert first_column(database_url, "SELECT count(*) FROM pg_hba_file_rules WHERE auth_method <> 'peer'") == 0
        with redis.from_url(redis_url) as valkey:
            assert valkey.config_get("port") == {"port": "0"}
        places = Places.of(tmp_path / "data")
        for path in (places.cluster, places.run, places.valkey_socket, places.run / ".s.PGSQL.5432"):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
        assert stat.S_IMODE(places.data_dir.stat().st_mode) & 0o067 == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has to change its user")
def test_as_root_the_cluster_may_lie_in_a_closed_home(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    data_dir = tmp_path / "clone" / ".data"
    account = server_account(data_dir / "postgres")
    assert account
    assert not can_enter(account, tmp_path)
    with services(data_dir) as (database_url, _):
        execute(database_url, "CREATE TABLE kept AS SELECT 42 AS answer")
        assert Path(f"/proc/{postmaster(data_dir)}").stat().st_uid == account.uid
        os.kill(postmaster(data_dir), signal.SIGKILL)
        assert eventually(database_url, "SELECT answer FROM kept") == 42
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_servers_that_are_killed_come_back_and_it_is_said(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    with supervisor(data_dir) as process:
        places = Places.of(data_dir)
        with redis.from_url(places.redis_url) as valkey:
            os.kill(valkey.info()["process_id"], signal.SIGKILL)
        for _ in range(3):
            os.kill(postmaster(data_dir), signal.SIGKILL)
            assert eventually(places.database_url, "SELECT 1") == 1
        process.terminate()
        _, said = process.communicate(timeout=20)
        assert process.returncode == 0
    assert "valkey was ended by SIGKILL; starting it again in 0.2 s (restart 1)" in said
    assert "postgres was ended by SIGKILL; starting it again in 0.8 s (restart 3)" in said
    assert "Traceback" not in said


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux alone ends a child with its parent")
def test_a_supervisor_that_is_killed_leaves_no_server(tmp_path: Path) -> None:
    with supervisor(tmp_path / "data") as process:
        server = postmaster(tmp_path / "data")
        process.kill()
        process.wait()
        with services(tmp_path / "data", **QUICK) as (database_url, _):
            assert first_column(database_url, "SELECT 1") == 1
        assert gone(server)


def test_a_pid_file_that_names_somebody_else_is_no_obstacle(tmp_path: Path) -> None:
    with services(tmp_path / "data", **QUICK):
        copy = (tmp_path / "data" / "postgres" / "postmaster.pid").read_text().split("\n", 1)[1]
    account = server_account(tmp_path / "data" / "postgres")
    as_server = account.popen() if account else {}
    with subprocess.Popen(["sleep", "60"], **as_server) as stranger:  # a container hands out the same numbers again
        (tmp_path / "data" / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n{copy}")
        with services(tmp_path / "data", **QUICK) as (database_url, _):
            assert first_column(database_url, "SELECT 1") == 1
        assert stranger.poll() is None
        stranger.kill()


def test_an_interrupted_first_start_is_begun_anew(tmp_path: Path) -> None:
    half = tmp_path / "data" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    (tmp_path / "data" / "sixstage.lock").touch()
    with services(tmp_path / "data", **QUICK) as (database_url, _):
        assert first_column(database_url, "SELECT 1") == 1
    assert not half.exists()


def test_a_cluster_of_another_version_is_told_and_left_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with services(tmp_path / "data", **QUICK):
        pass
    version = tmp_path / "data" / "postgres" / "PG_VERSION"
    version.write_text("15\n")
    with pytest.raises(StartError), services(tmp_path / "data", **QUICK):
        pass
    assert "was made by PostgreSQL 15" in capfd.readouterr().err


def test_a_directory_in_use_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with services(tmp_path / "data", **QUICK) as (database_url, _):
        with pytest.raises(StartError), services(tmp_path / "data", **QUICK):
            pass
        assert "is in use by another Sixstage, process" in capfd.readouterr().err
        assert first_column(database_url, "SELECT 1") == 1


def test_two_run_side_by_side(tmp_path: Path) -> None:
    with services(tmp_path / "a", **QUICK) as one, services(tmp_path / "b", **QUICK) as other:
        execute(one.database_url, "CREATE TABLE mine AS SELECT 1")
        assert first_column(other.database_url, "SELECT to_regclass('mine') IS NULL") is True


def test_a_path_too_long_for_a_socket_works_too(tmp_path: Path) -> None:
    data_dir = tmp_path / ("long" * 30) / "data"
    with services(data_dir, **QUICK) as (database_url, redis_url):
        assert first_column(database_url, "SELECT 1") == 1
        with redis.from_url(redis_url) as valkey:
            assert valkey.ping()
    assert not Places.of(data_dir).run.exists()


def test_an_ordinary_user_needs_nothing_more(tmp_path_factory: pytest.TempPathFactory) -> None:
    code = (
        "import socket, sys, psycopg; from dashboard.embedded import Places, services\n"
        "for _ in range(2):\n"
        "    with services(sys.argv[1], fsync=False) as (database_url, redis_url):\n"
        "        with psycopg.connect(database_url) as connection:\n"
        "            connection.execute('CREATE TABLE IF NOT EXISTS t (n int)')\n"
        "            connection.execute('INSERT INTO t VALUES (1)')\n"
        "            print(connection.execute('SELECT count(*) FROM t').fetchone()[0])\n"
        "        valkey = socket.socket(socket.AF_UNIX)\n"
        "        valkey.connect(str(Places.of(sys.argv[1]).valkey_socket))\n"
        "        valkey.send(b'PING\\r\\n')\n"
        "        assert valkey.recv(9) == b'+PONG\\r\\n'\n"
    )
    with home() as folder:
        person = ordinary_user(folder)
        done = subprocess.run(
            [person.python, "-c", code, str(folder / "data")],
            cwd=ROOT,
            env=person.env,
            capture_output=True,
            text=True,
            check=False,
            **person.popen,
        )
        assert (done.stdout, done.returncode) == ("1\n2\n", 0), done.stderr
        assert stat.S_IMODE((folder / "data").stat().st_mode) == 0o700


@contextmanager
def home() -> Iterator[Path]:
    """A directory that another user can reach: pytest's own are closed to them."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="sixstage-home-") as folder:
        yield Path(folder)

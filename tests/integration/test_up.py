"""`make up` as a newcomer meets it: the whole instance, started, hurt, stopped and started again."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from dashboard.embedded import urls
from tests.people import ROOT, Person, ordinary_user
from tests.ports import free_ports

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
PATIENCE_S = 120
STOPS_WITHIN_S = 15


class Up:
    """One `make up`, with what it has said so far."""

    def __init__(self, data_dir: Path, ports: dict[str, str], person: Person | None = None) -> None:
        plain = {name: value for name, value in os.environ.items() if not name.startswith("SIXSTAGE_")}
        self.person = person or Person(sys.executable, plain, {})
        self.env = {**self.person.env, "SIXSTAGE_DATA_DIR": str(data_dir), "SIXSTAGE_WORKERS": "1", **ports}
        self.url = f"http://127.0.0.1:{ports['SIXSTAGE_PORT']}"
        self.database_url, _ = urls(data_dir)
        self.process = self._run()
        self.said = ""
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _run(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self.person.python, "-m", "dashboard.up"],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            **self.person.popen,
        )

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.said += line

    def hears(self, text: str) -> None:
        """Wait until it has said that."""
        until_s = time.monotonic() + PATIENCE_S
        while text not in self.said:
            assert self.process.poll() is None, f"ended without saying {text!r}:\n{self.said}"
            assert time.monotonic() < until_s, f"never said {text!r}:\n{self.said}"
            time.sleep(0.05)

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()
            return False

    def becomes_ready(self) -> None:
        until_s = time.monotonic() + PATIENCE_S
        while not self.is_ready():
            assert time.monotonic() < until_s, self.said
            time.sleep(0.1)

    def family(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def owners(self) -> set[int]:
        """Who its processes run as. Some, like PostgreSQL's backends, end while one looks."""
        found = set()
        for process in self.family():
            with suppress(psutil.NoSuchProcess):
                found.add(process.uids().real)
        return found

    def child(self, words: str) -> int:
        """The process id of the direct child with these words in its command line."""
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.NoSuchProcess):
                if words in " ".join(child.cmdline()):
                    return child.pid
        raise AssertionError(f"no child runs {words}")

    def stop(self, signum: signal.Signals = signal.SIGINT) -> float:
        """Stop it; tells how long that took."""
        began = time.monotonic()
        self.process.send_signal(signum)
        self.process.wait(timeout=PATIENCE_S)
        return time.monotonic() - began

    def close(self) -> None:
        self.process.wait()
        self._listener.join(timeout=10)
        assert self.process.stdout
        self.process.stdout.close()


@contextmanager
def up(data_dir: Path, ports: dict[str, str], person: Person | None = None) -> Iterator[Up]:
    running = Up(data_dir, ports, person)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop(signal.SIGTERM)
        running.close()


def left_of(family: list[psutil.Process]) -> list[psutil.Process]:
    _, alive = psutil.wait_procs(family, timeout=10)
    return alive


def test_from_first_start_to_second(tmp_path: Path) -> None:
    data_dir, ports = tmp_path / "data", free_ports()

    with up(data_dir, ports) as first:
        first.hears("Stop             Ctrl-C")
        assert first.is_ready()
        assert "ready for its first runs" in first.said
        assert f"Open             {first.url}" in first.said
        for name in ("SIXSTAGE_OTLP_HTTP_PORT", "SIXSTAGE_OTLP_GRPC_PORT"):
            assert f"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:{ports[name]}\n" in first.said

        refused = subprocess.run(
            [sys.executable, "-m", "dashboard.up"],
            cwd=ROOT,
            env=first.env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert refused.returncode == 1
        assert f"is in use by another Sixstage, process {first.process.pid}." in refused.stderr
        assert len(re.findall(r"port \d+ on 127\.0\.0\.1 \(SIXSTAGE_\w+\) is in use", refused.stderr)) == 3

        for words, name in (
            ("dashboard.work worker", "worker"),
            ("uvicorn", "web"),
            ("bin/postgres", "postgres"),
        ):
            os.kill(first.child(words), signal.SIGKILL)
            first.hears(f"{name} was ended by SIGKILL; starting it again in 0.2 s (restart 1)")
        first.becomes_ready()

        with psycopg.connect(first.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
        family = first.family()
        assert first.stop() < STOPS_WITHIN_S
        assert first.process.returncode == 0
        assert left_of(family) == []
        assert first.said.rstrip().endswith("sixstage | stopped")

    with up(data_dir, ports) as second:
        second.hears("Stop             Ctrl-C")
        assert "back, with the data that it had" in second.said
        with psycopg.connect(second.database_url) as connection:
            row = connection.execute("SELECT answer FROM kept").fetchone()
        assert row == (42,)
        family = second.family()
        assert second.stop(signal.SIGTERM) < STOPS_WITHIN_S
        assert second.process.returncode == 0
        assert left_of(family) == []


def test_two_run_side_by_side_and_one_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    with up(tmp_path / "one", free_ports()) as one, up(tmp_path / "other", free_ports()) as other:
        one.hears("Stop             Ctrl-C")
        other.hears("Stop             Ctrl-C")
        assert one.is_ready()
        assert other.is_ready()
        family = one.family()
        one.process.kill()
        assert left_of(family) == []
        assert other.is_ready()


def test_ctrl_c_while_it_starts_stops_it_just_as_well(tmp_path: Path) -> None:
    with up(tmp_path / "data", free_ports()) as running:
        until_s = time.monotonic() + PATIENCE_S
        while not running.family() and time.monotonic() < until_s:
            time.sleep(0.05)
        family = running.family()
        assert running.stop() < STOPS_WITHIN_S
        assert running.process.returncode == 0
        assert left_of(family) == []
        assert "Traceback" not in running.said


@pytest.mark.skipif(os.geteuid() != 0, reason="every other test here is this one already")
def test_an_ordinary_user_can_run_it_all() -> None:
    with tempfile.TemporaryDirectory(prefix="sixstage-home-") as folder:
        person = ordinary_user(Path(folder))
        with up(Path(folder) / "data", free_ports(), person) as running:
            running.hears("Stop             Ctrl-C")
            assert running.is_ready()
            assert running.owners() == {person.popen["user"]}
            assert running.stop() < STOPS_WITHIN_S

"""The whole product as `make up` starts it, with a data directory and ports of its own."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil

from dashboard.embedded import urls
from tests.polling import until
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[1]
READY_WITHIN_S, STOPPED_WITHIN_S = 120, 30

# By which words of its command line a process of the instance is known.
COMMANDS = {
    "web": "dashboard.asgi:application",
    "receiver": "ingest.otlp.serve",
    "worker": "dashboard.work worker",
    "postgres": "postgres -D",
    "valkey": "valkey",
}


class Instance:
    """A running instance: where it listens, which processes it has, and what it has said."""

    def __init__(self, folder: Path, start: "Callable[[], subprocess.Popen[bytes]]", ports: dict[str, str]) -> None:
        self.log = folder / "log"
        self.data_dir = folder / "data"
        self._start = start
        self.supervisor = start()
        self.web = f"http://127.0.0.1:{ports['SIXSTAGE_PORT']}"
        self.otlp_http = f"http://127.0.0.1:{ports['SIXSTAGE_OTLP_HTTP_PORT']}"
        self.otlp_grpc = f"127.0.0.1:{ports['SIXSTAGE_OTLP_GRPC_PORT']}"
        self.socket = f"ws://127.0.0.1:{ports['SIXSTAGE_PORT']}/ws/live/"
        self.database_url, self.redis_url = urls(self.data_dir)
        self.api = httpx.Client(base_url=f"{self.web}/api/v1", timeout=30, follow_redirects=True)

    def start_again(self) -> None:
        """With the same data and ports, once all processes of the supervisor that was are gone."""
        assert self.supervisor.stdin
        self.supervisor.stdin.close()
        self.supervisor = self._start()

    def is_ready(self) -> bool:
        """Whether `/readyz` says so. Fails at once when the supervisor has ended."""
        if self.supervisor.poll() is not None:
            raise AssertionError(f"the instance ended with {self.supervisor.returncode}:\n{self.last_words()}")
        try:
            return httpx.get(f"{self.web}/readyz", timeout=10).status_code == 200
        except httpx.TransportError:
            return False

    def manage(self, *command: str) -> str:
        """What `manage.py` prints beside the running instance; it must end with 0."""
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(("SIXSTAGE_", "DJANGO_"))}
        done = subprocess.run(
            [sys.executable, "manage.py", *command], cwd=ROOT, env=theirs | {"SIXSTAGE_DATA_DIR": str(self.data_dir)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def becomes_ready(self) -> None:
        try:
            until(self.is_ready, READY_WITHIN_S, "/readyz answers 200")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.last_words()}") from None

    def processes(self) -> list[psutil.Process]:
        """The supervisor and everything under it."""
        try:
            root = psutil.Process(self.supervisor.pid)
            return [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def process(self, name: str) -> psutil.Process | None:
        """The main process of ``web``, ``receiver``, ``worker``, ``postgres`` or ``valkey``, if it lives."""
        for child in psutil.Process(self.supervisor.pid).children():
            try:
                if COMMANDS[name] in " ".join(child.cmdline()):
                    return child
            except psutil.NoSuchProcess:
                continue
        return None

    def kill(self, name: str) -> None:
        """`kill -9`, and wait until it is gone; the supervisor starts another."""
        killed = self.process(name)
        assert killed is not None, f"{name} does not run"
        killed.kill()
        killed.wait(STOPPED_WITHIN_S)

    def last_words(self) -> str:
        return self.log.read_text(errors="replace")[-4000:]


@contextmanager
def running_instance(*, fsync: bool = False, within: Path | None = None, **settings: str) -> Iterator[Instance]:
    """An instance that is ready, gone with its data after the block; when the tests die it stops by itself."""
    with _folder(within) as folder:
        ports = free_ports()
        theirs = {name: value for name, value in os.environ.items() if not name.startswith(("SIXSTAGE_", "DJANGO_"))}
        command = [sys.executable, "-m", "dashboard.up", "--until-eof", *(() if fsync else ("--no-fsync",))]

        def start() -> "subprocess.Popen[bytes]":
            with (folder / "log").open("ab") as log:
                return subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=theirs | {"SIXSTAGE_DATA_DIR": str(folder / "data"), **ports, **settings},
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C is for the test run, which then closes the pipe
                )

        instance = Instance(folder, start, ports)
        try:
            instance.becomes_ready()
            yield instance
        finally:
            instance.api.close()
            _stop(instance)


@contextmanager
def _folder(within: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="sixstage-instance-", dir=within))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stop(instance: Instance) -> None:
    supervisor, children = instance.supervisor, instance.processes()
    assert supervisor.stdin
    supervisor.stdin.close()
    try:
        supervisor.wait(STOPPED_WITHIN_S)
    except subprocess.TimeoutExpired:
        for process in children:
            if process.is_running():
                process.kill()
        supervisor.wait()
        raise AssertionError(f"the instance did not stop:\n{instance.last_words()}") from None

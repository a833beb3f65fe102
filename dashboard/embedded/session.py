"""The two services for the length of a `with` block: for tests and benchmarks."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dashboard.embedded.errors import StartError
from dashboard.embedded.places import Places

ROOT = Path(__file__).resolve().parents[2]


class Services(NamedTuple):
    """Where the services of a block listen."""

    database_url: str
    redis_url: str


@contextmanager
def services(data_dir: Path | str, *, fsync: bool = True) -> Iterator[Services]:
    """Run PostgreSQL and Valkey in a data directory; `fsync=False` trades safety for speed, for tests.

    They run under a supervisor of their own, as they do in `make up`. It holds our end of a pipe: when this
    process goes away, however that happens, the pipe closes and it stops both.
    """
    places = Places.of(data_dir)
    command = [sys.executable, "-m", "dashboard.up", "--services-only", "--until-eof"]
    # settings of an instance around us (the URLs of its own services, say) are not meant for this one
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SIXSTAGE_")}
    supervisor = subprocess.Popen(
        [*command, *(() if fsync else ("--no-fsync",))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**plain, "SIXSTAGE_DATA_DIR": str(places.data_dir)},
        start_new_session=True,  # Ctrl-C is for the test run, which then closes the pipe
    )
    assert supervisor.stdin
    assert supervisor.stdout
    try:
        told = [supervisor.stdout.readline() for _ in Services._fields]
        if not all(told):
            raise StartError(f"the services in {places.data_dir} did not start: the reason stands above")
        yield Services(places.database_url, places.redis_url)
    finally:
        supervisor.stdin.close()
        try:
            supervisor.wait(timeout=20)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait()
        supervisor.stdout.close()

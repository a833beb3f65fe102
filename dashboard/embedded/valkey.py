"""How the embedded Valkey is started: a broker and channel layer on a unix socket, nothing on disk.

The row is the truth and the queue only a wake-up, so there is nothing to keep. When memory is full it
refuses a write, which is seen, rather than drop a queue, which is not.
"""

import signal
from pathlib import Path

from dashboard.embedded.binaries import valkey_program
from dashboard.embedded.places import Places
from dashboard.embedded.stale import end_leftover

DATABASES = 64  # one for each parallel test worker


def argv(places: Places) -> list[str]:
    settings = {
        "port": "0",
        "unixsocket": str(places.valkey_socket),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
        "databases": str(DATABASES),
        "daemonize": "no",
        "pidfile": str(_pid_file(places)),
        "dir": str(places.run),
        "loglevel": "notice",
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return [str(valkey_program()), *words]


def prepare(places: Places) -> None:
    end_leftover(_pid_file(places), "valkey-server", signal.SIGTERM, wait_s=5)


def _pid_file(places: Places) -> Path:
    return places.run / "valkey.pid"

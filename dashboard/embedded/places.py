"""Where everything of one instance lies, computed from its data directory alone."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

DATABASE = ROLE = "sixstage"
SOCKET_PORT = 5432  # no TCP port: PostgreSQL only names its socket file after it
MAX_SOCKET_PATH = 103  # bytes before the closing NUL: 107 fit on Linux, 103 on macOS


@dataclass(frozen=True)
class Places:
    """The paths of one instance; nothing is created by asking."""

    data_dir: Path

    @classmethod
    def of(cls, data_dir: Path | str) -> "Places":
        return cls(Path(data_dir).expanduser().resolve())

    @property
    def lock(self) -> Path:
        return self.data_dir / "sixstage.lock"

    @property
    def cluster(self) -> Path:
        return self.data_dir / "postgres"

    @property
    def logs(self) -> Path:
        return self.data_dir / "logs"

    @property
    def beat(self) -> Path:
        return self.data_dir / "beat"

    @property
    def run(self) -> Path:
        """Where the sockets are: in the data directory, or under /tmp when that path is too long for one.

        Always /tmp and never $TMPDIR or $XDG_RUNTIME_DIR: those differ between a login, a cron job and a
        `su`, and each of them has to find the same sockets again.
        """
        inside = self.data_dir / "run"
        if len(bytes(inside / f".s.PGSQL.{SOCKET_PORT}.lock")) <= MAX_SOCKET_PATH:
            return inside
        return Path("/tmp") / f"sixstage-{hashlib.sha256(bytes(self.data_dir)).hexdigest()[:16]}"

    @property
    def valkey_socket(self) -> Path:
        return self.run / "valkey.sock"

    @property
    def database_url(self) -> str:
        return f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(self.run))}"

    @property
    def redis_url(self) -> str:
        return f"unix://{quote(str(self.valkey_socket))}"


def urls(data_dir: Path | str) -> tuple[str, str]:
    """The database and Valkey URLs that belong to a data directory, whether or not anything runs there."""
    places = Places.of(data_dir)
    return places.database_url, places.redis_url

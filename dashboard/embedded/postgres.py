"""Makes, configures and waits for one PostgreSQL cluster; whoever calls runs the server itself.

Own launcher around plain programs, so that another wheel or a system PostgreSQL could take their place.
"""

import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.embedded.account import ENVIRONMENT, Account, can_enter, own_name
from dashboard.embedded.errors import StartError
from dashboard.embedded.places import ROLE, SOCKET_PORT, Places
from dashboard.embedded.stale import end_leftover

SETTINGS = """\
# Written at every start. Settings of your own: ALTER SYSTEM SET …, which wins over this file.
max_connections = 100
shared_buffers = 40MB                   # the file cache of the system does the rest
work_mem = 16MB
maintenance_work_mem = 128MB
random_page_cost = 1.1
jit = off                             # compiling costs more than our queries take
max_parallel_workers_per_gather = 0   # starting workers does too; the cores have others to serve
wal_level = minimal                   # one machine, no replicas
max_wal_senders = 0
max_logical_replication_workers = 0
min_wal_size = 256MB
max_wal_size = 2GB
wal_compression = pglz
checkpoint_completion_target = 0.9
autovacuum_naptime = 20s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.05
default_statistics_target = 40        # a table that grows is analysed every 20 s, which costs by it
autovacuum_vacuum_insert_scale_factor = 0.1
autovacuum_vacuum_cost_limit = 2000
log_checkpoints = off
log_line_prefix = '%m [%p] %d '
timezone = 'UTC'
log_timezone = 'UTC'
"""
DURABLE = "fsync = on\nsynchronous_commit = on\n"
FOR_TESTS = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"


@dataclass(frozen=True)
class Postgres:
    """One cluster, the programs that serve it, and the user that they run as."""

    places: Places
    programs: Path
    account: Account | None
    fsync: bool = True

    def prepare(self) -> None:
        """Before every start: make the cluster if there is none, check its version, write its settings."""
        cluster = self.places.cluster
        if not cluster.exists():
            self._initialise()
        self._check_version()
        end_leftover(cluster / "postmaster.pid", "postgres", signal.SIGINT)
        self._write("sixstage.conf", SETTINGS + (DURABLE if self.fsync else FOR_TESTS))
        # Peer: the kernel tells which user is at the other end of the socket, so there is no password.
        self._write("pg_hba.conf", "local all all peer map=sixstage\n")
        self._write("pg_ident.conf", f'sixstage "{own_name()}" {ROLE}\n')

    def argv(self) -> list[str]:
        return [
            str(self.programs / "postgres"),
            "-D",
            self._seen_from_inside(self.places.cluster),
            *("-c", "listen_addresses="),
            *("-c", f"unix_socket_directories={self._socket_dir()}"),
            *("-c", "unix_socket_permissions=0700"),
            *("-c", f"port={SOCKET_PORT}"),
        ]

    def popen(self) -> dict[str, Any]:
        """How to start it: as which user, where, and with nothing of our environment but what it needs."""
        return {
            "cwd": self.places.cluster,
            "env": ENVIRONMENT,
            **(self.account.popen() if self.account else {}),
        }

    def _initialise(self) -> None:
        """Made aside and renamed, so that an interrupted start never leaves half a cluster to find."""
        cluster = self.places.cluster
        draft = cluster.with_name("postgres.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(mode=0o700)
        if self.account:
            shutil.chown(draft, self.account.uid, self.account.gid)
        done = subprocess.run(
            [
                str(self.programs / "initdb"),
                *("-D", self._seen_from_inside(draft)),
                *("-U", ROLE, "--auth=peer", "--encoding=UTF8", "--locale=C"),
                *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-instructions"),
                *(() if self.fsync else ("--no-sync",)),
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,  # Ctrl-C is for the supervisor, which stops after this second of work
            **{**self.popen(), "cwd": draft},
        )
        if done.returncode != 0:
            shutil.rmtree(draft, ignore_errors=True)
            raise StartError(f"PostgreSQL could not make its cluster in {cluster}:\n{done.stderr.strip()}")
        with (draft / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write("\ninclude_if_exists = 'sixstage.conf'\n")
        draft.rename(cluster)

    def _check_version(self) -> None:
        cluster = self.places.cluster
        try:
            made_by = (cluster / "PG_VERSION").read_text(encoding="ascii").strip()
        except FileNotFoundError:
            raise StartError(f"{cluster} is no PostgreSQL cluster. Move it away, and a new one is made.") from None
        said = subprocess.run(
            [str(self.programs / "postgres"), "--version"], capture_output=True, text=True, check=True
        ).stdout
        ours = said.split()[2].split(".")[0]
        if made_by != ours:
            raise StartError(
                f"{cluster} was made by PostgreSQL {made_by}, and Sixstage now brings {ours}, which cannot"
                " read it. Dump it with the old version (pg_dump) and restore it in a new SIXSTAGE_DATA_DIR."
            )

    def _write(self, name: str, text: str) -> None:
        path = self.places.cluster / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        if self.account:
            shutil.chown(path, self.account.uid, self.account.gid)

    def _seen_from_inside(self, folder: Path) -> str:
        """The path of a cluster as its server can open it.

        Below a closed directory (a clone in root's home) the unprivileged server cannot come in by the
        absolute path. We start it inside, where the kernel lets it stay, and it finds itself by /proc.
        """
        if can_enter(self.account, folder):
            return str(folder)
        if sys.platform != "linux":
            raise StartError(
                f"user {self.account and self.account.name}, as whom PostgreSQL runs, cannot reach {folder}."
                " Set SIXSTAGE_DATA_DIR to a directory that others may pass through, or start Sixstage as an"
                " ordinary user."
            )
        return "/proc/self/cwd"

    def _socket_dir(self) -> str:
        """Relative to the cluster where it can be, for the same reason."""
        run = self.places.run
        return f"../{run.name}" if run.parent == self.places.data_dir else str(run)

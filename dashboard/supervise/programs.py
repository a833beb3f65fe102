"""The programs of an instance: what each is called, how it is started, and when it is ready."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from dashboard.embedded import valkey
from dashboard.embedded.account import Account, own_name, server_account
from dashboard.embedded.binaries import postgres_programs
from dashboard.embedded.folders import open_for
from dashboard.embedded.places import Places
from dashboard.embedded.postgres import Postgres
from dashboard.supervise.child import ChildError, Program
from dashboard.supervise.options import Options

ROOT = Path(__file__).resolve().parents[2]
# Celery's advice is meant for servers; here whoever typed `make up` has chosen the user.
UNWARNED = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges"}

# glibc gives back what a burst had needed, instead of keeping it for the next: 25 MB for each worker process after a
# dictionary was trained, and no CPU that could be measured. Only the receiver keeps it: it would take each request's
# body from the system anew. What lies unused is given back once it rests (`ingest.observing.memory`). Other C
# libraries do not know the names.
TRIMMED = {"MALLOC_TRIM_THRESHOLD_": str(1 << 20), "MALLOC_ARENA_MAX": "2"}
KEEPING = {"MALLOC_TRIM_THRESHOLD_": str(32 << 20), "MALLOC_MMAP_THRESHOLD_": str(4 << 20), "MALLOC_ARENA_MAX": "2"}


def service_programs(options: Options, *, fsync: bool = True) -> list[Program]:
    """PostgreSQL and Valkey, but for those that the environment names as running elsewhere."""
    places = options.places
    account: Account | None = None
    if options.database_url is None:
        own_name()
        account = server_account(places.cluster)
    open_for(places, account)
    programs: list[Program] = []
    if options.database_url is None:
        server = Postgres(places, postgres_programs(account, places.data_dir), account, fsync)
        server.prepare()
        programs.append(
            Program(
                name="postgres",
                argv=server.argv(),
                popen=server.popen(),
                log=places.logs / "postgres.log",
                stop=signal.SIGINT,  # fast shutdown: sessions are ended, nothing needs recovery
                grace_s=5,
                before=server.prepare,
                ready=lambda: _database(places),
            )
        )
    if options.redis_url is None:
        programs.append(
            Program(
                name="valkey",
                argv=valkey.argv(places),
                popen={"cwd": places.run},
                log=places.logs / "valkey.log",
                grace_s=1.5,
                before=lambda: valkey.prepare(places),
                ready=lambda: _answers_ping(places.valkey_socket),
            )
        )
    return programs


def set_up_program(env: Mapping[str, str]) -> Program:
    """What runs once before the others: the schema, and whatever an instance needs in it."""
    return _python("migrate", "-m", "dashboard.set_up", env=env)


def app_programs(options: Options, env: Mapping[str, str]) -> list[Program]:
    """Our own processes, in the order in which they start."""
    work = ("-m", "dashboard.work")
    web = ("--host", options.host, "--port", str(options.ports["SIXSTAGE_PORT"]), "--lifespan", "on")
    stack = ("--loop", "uvloop", "--http", "ingest.otlp.connections:PatientProtocol")
    stack += ("--no-access-log", "--log-level", "warning")
    quick = ("--timeout-graceful-shutdown", "3", "--timeout-keep-alive", "75")
    pool = ("--concurrency", str(options.workers))
    clock = ("--clock", str(options.places.beat / "schedule"))
    return [
        _python("receiver", "-m", "ingest.otlp.serve", env=env, malloc=KEEPING),
        _python("web", "-m", "uvicorn", "dashboard.asgi:application", *web, *stack, *quick, env=env),
        _python("worker", *work, "worker", *pool, *clock, env={**env, **UNWARNED}),
    ]


def _python(name: str, *arguments: str, env: Mapping[str, str], malloc: Mapping[str, str] = TRIMMED) -> Program:
    popen = {"cwd": ROOT, "env": {**malloc, **os.environ, **env}}
    return Program(name=name, argv=(sys.executable, *arguments), popen=popen)


async def _database(places: Places) -> None:
    """Return when PostgreSQL takes connections and has our database.

    A process that ends asks: a client library would stay in this one, which needs it no more (10 MB). It loads while
    PostgreSQL starts.
    """
    command = (sys.executable, "-m", "dashboard.embedded.await_database", str(places.data_dir))
    asking = await asyncio.create_subprocess_exec(*command, cwd=ROOT, start_new_session=True)
    try:
        if await asking.wait() != 0:
            raise ChildError("postgres takes connections, but has no database for us: see the lines above.")
    finally:
        if asking.returncode is None:
            asking.kill()
            await asking.wait()


async def _answers_ping(socket: Path) -> None:
    while True:
        try:
            reader, writer = await asyncio.open_unix_connection(str(socket))
            writer.write(b"PING\r\n")
            answer = await reader.readline()
            writer.close()
            if answer.startswith(b"+PONG"):
                return
        except OSError:
            pass
        await asyncio.sleep(0.02)

"""`make up`: everything of one instance in the foreground. Run as `python -m dashboard.up`."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence

from dashboard.embedded.errors import StartError
from dashboard.embedded.folders import close
from dashboard.supervise.checks import hold
from dashboard.supervise.child import ChildError
from dashboard.supervise.console import Console
from dashboard.supervise.instance import Instance
from dashboard.supervise.options import Options, read_options
from dashboard.supervise.programs import app_programs, service_programs, set_up_program
from dashboard.supervise.readiness import banner, wait_ready


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m dashboard.up", description=__doc__)
    parser.add_argument("--services-only", action="store_true", help="PostgreSQL and Valkey alone; prints their URLs")
    parser.add_argument("--until-eof", action="store_true", help="stop when standard input closes")
    parser.add_argument("--no-fsync", action="store_true", help="faster, not safe from a power cut: for tests")
    asked = parser.parse_args(arguments)
    console = Console(sys.stderr if asked.services_only else sys.stdout)
    lock = -1
    try:
        options = read_options(os.environ)
        lock = hold(options, services_only=asked.services_only)
        return asyncio.run(_live(options, console, asked))
    except StartError as error:
        lines = "".join(f"  - {line}\n" for line in str(error).splitlines())
        sys.stderr.write(f"sixstage cannot start, and has started nothing:\n{lines}")
        return 1
    except KeyboardInterrupt:  # before the loop takes over
        return 0
    finally:
        if lock >= 0:
            os.close(lock)


async def _live(options: Options, console: Console, asked: argparse.Namespace) -> int:
    instance = Instance(console)
    instance.obey_signals()
    try:
        await instance.until_stopped(_start(instance, options, console, asked))
        if asked.until_eof:
            await instance.until_stopped(_end_of_input())
        else:
            await instance.stopping.wait()
        if not asked.services_only:
            console.say("stopping")
        return 0
    except ChildError as failure:
        console.say(f"cannot go on: {failure}")
        return 1
    finally:
        await instance.stop()
        close(options.places)
        if not asked.services_only:
            console.say("stopped")


async def _start(instance: Instance, options: Options, console: Console, asked: argparse.Namespace) -> None:
    began, first = time.monotonic(), not options.places.cluster.exists()
    if first and not asked.services_only:
        console.say(f"making a new instance in {options.places.data_dir}")
    await instance.start(service_programs(options, fsync=not asked.no_fsync))
    if asked.services_only:
        for name in ("SIXSTAGE_DATABASE_URL", "SIXSTAGE_REDIS_URL"):
            sys.stdout.write(f"{name}={options.environment()[name]}\n")
        sys.stdout.flush()
        return
    env = options.environment()
    await instance.run_once(set_up_program(env))
    await instance.start(app_programs(options, env))
    await wait_ready(options, console)
    console.write(banner(options, first=first, seconds=time.monotonic() - began))


async def _end_of_input() -> None:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while await reader.read(4096):
        pass


if __name__ == "__main__":
    sys.exit(main())

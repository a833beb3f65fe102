"""One process that is kept alive: started, watched, restarted when it dies, and stopped for good."""

import asyncio
import ctypes
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard.supervise.console import Console

FIRST_PAUSE_S, LONGEST_PAUSE_S, STEADY_S = 0.2, 10.0, 30.0
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclass(frozen=True, kw_only=True)
class Program:
    """What to run, and how to end it."""

    name: str
    argv: Sequence[str]
    popen: Mapping[str, Any] = field(default_factory=dict)
    log: Path | None = None  # its output goes there instead of the console
    stop: signal.Signals = signal.SIGTERM
    grace_s: float = 7.0
    before: Callable[[], None] | None = None  # before every start
    ready: Callable[[], Awaitable[None]] | None = None  # returns once it serves


class Child:
    """Keeps one program running."""

    def __init__(self, program: Program, console: Console) -> None:
        self.program = program
        self.restarts = 0
        self._console = console
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self) -> None:
        """Start it and wait until it serves; an exit before that is an error."""
        await self._spawn()
        if self.program.ready is not None:
            ready = asyncio.ensure_future(self.program.ready())
            exited = asyncio.ensure_future(self._exit())
            try:
                await asyncio.wait({ready, exited}, return_when=asyncio.FIRST_COMPLETED)
                if not ready.done():
                    told = f"{self.program.name} {exited.result()} while starting"
                    raise ChildError(told + self._last_words())
                ready.result()
            finally:
                ready.cancel()
                exited.cancel()

    async def once(self) -> None:
        """Run it to its end; anything but exit code 0 is an error."""
        await self._spawn()
        assert self._process
        try:
            told = await self._exit()
        except asyncio.CancelledError:
            await self.stop()
            raise
        if self._process.returncode != 0:
            raise ChildError(f"{self.program.name} {told}: see its lines above.")

    async def keep(self) -> None:
        """Watch it for ever: when it dies, say so and start it again, each time after a longer pause."""
        pause_s = FIRST_PAUSE_S
        while True:
            started = time.monotonic()
            told = await self._exit()
            if self._stopping:
                return
            pause_s = FIRST_PAUSE_S if time.monotonic() - started > STEADY_S else pause_s
            self.restarts += 1
            self._console.say(
                f"{self.program.name} {told}; starting it again in {pause_s:.1f} s (restart {self.restarts})"
            )
            self._signal_group(signal.SIGKILL)  # what it leaves behind would work beside its successor
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            if self._stopping:
                return
            try:
                await self.start()
            except Exception as error:
                self._console.say(f"{self.program.name} did not start: {error}")

    async def stop(self) -> None:
        """Ask it to end, wait as long as it is given, then insist; nothing of its group is left."""
        self._stopping = True
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.send_signal(self.program.stop)
            try:
                await asyncio.wait_for(process.wait(), self.program.grace_s)
            except TimeoutError:
                self._console.say(f"{self.program.name} did not end within {self.program.grace_s:.0f} s and was killed")
        self._signal_group(signal.SIGKILL)
        await process.wait()
        if self._reader is not None:
            await asyncio.wait({self._reader}, timeout=1)

    async def _spawn(self) -> None:
        if self.program.before is not None:
            self.program.before()
        supervisor = os.getpid()
        if self.program.log is None:
            ours, theirs = os.pipe()
        else:
            ours, theirs = -1, _log(self.program.log)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self.program.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                # Ctrl-C reaches the whole group of the terminal: outside it, children end in our order
                start_new_session=True,
                # runs after the change of user, which would undo it
                preexec_fn=lambda: _end_with(supervisor, self.program.stop),
                **self.program.popen,
            )
        finally:
            os.close(theirs)
            if ours >= 0:
                self._reader = asyncio.create_task(self._read(ours))

    async def _exit(self) -> str:
        assert self._process
        return describe(await self._process.wait())

    async def _read(self, pipe: int) -> None:
        """Copy its lines to the console. A pipe of our own: asyncio's waits for grandchildren to close it."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb")
        )
        rest = b""
        try:
            while chunk := await reader.read(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    self._console.line(self.program.name, line.decode(errors="replace").rstrip())
            if rest:
                self._console.line(self.program.name, rest.decode(errors="replace"))
        finally:
            transport.close()

    def _signal_group(self, signum: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signum)

    def _last_words(self) -> str:
        if self.program.log is None:
            return ""
        with suppress(OSError):
            lines = self.program.log.read_text(errors="replace").splitlines()[-8:]
            return f". The end of {self.program.log}:" + "".join(f"\n    {line}" for line in lines)
        return ""


class ChildError(Exception):
    """A program ended that had to serve, or failed what it had to do."""


def describe(returncode: int) -> str:
    """An exit in words: `exited with code 3`, `was ended by SIGKILL`."""
    if returncode >= 0:
        return f"exited with code {returncode}"
    try:
        return f"was ended by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"was ended by signal {-returncode}"


def _log(path: Path) -> int:
    """Open a log to append, with one predecessor kept once it has grown."""
    with suppress(FileNotFoundError):
        if path.stat().st_size > 10_000_000:
            path.replace(path.with_suffix(".old.log"))
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def _end_with(supervisor: int, signum: signal.Signals) -> None:
    """In the child, before its program: the kernel shall end it when the supervisor is gone."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, int(signum))
        if os.getppid() != supervisor:
            os._exit(1)

"""A program that is kept alive."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dashboard.supervise.child import Child, ChildError, Program, describe
from dashboard.supervise.console import Console

ROOT = Path(__file__).resolve().parents[3]


def child(code: str, **how: object) -> tuple[Child, io.StringIO]:
    told = io.StringIO()
    program = Program(name="probe", argv=(sys.executable, "-uc", code), **how)  # type: ignore[arg-type]
    return Child(program, Console(told)), told


async def until(told: io.StringIO, text: str) -> None:
    async with asyncio.timeout(20):
        while text not in told.getvalue():
            await asyncio.sleep(0.01)


async def test_its_lines_carry_its_name() -> None:
    probe, told = child("print('one'); print('two ü', end='')")
    await probe.once()
    await probe.stop()
    assert told.getvalue() == "probe    | one\nprobe    | two ü\n"


async def test_one_that_dies_is_restarted_and_said_so() -> None:
    probe, told = child("print('alive'); import time; time.sleep(60)")
    await probe.start()
    keeper = asyncio.create_task(probe.keep())
    await until(told, "alive")
    assert probe._process
    os.kill(probe._process.pid, signal.SIGKILL)
    await until(told, "(restart 1)")
    await until(told, "alive\nsixstage | probe was ended by SIGKILL; starting it again in 0.2 s (restart 1)\nprobe")
    await probe.stop()
    await keeper
    assert probe.restarts == 1


async def test_each_pause_is_longer_than_the_last() -> None:
    probe, told = child("raise SystemExit(3)")
    await probe.start()
    keeper = asyncio.create_task(probe.keep())
    await until(told, "(restart 3)")
    await probe.stop()
    await keeper
    said = [line for line in told.getvalue().splitlines() if "probe exited with code 3" in line]
    assert ["0.2 s" in said[0], "0.4 s" in said[1], "0.8 s" in said[2]] == [True] * 3


async def test_one_that_will_not_end_is_killed_with_all_that_it_started() -> None:
    code = (
        "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print(inner.pid);"
        "time.sleep(60)"
    )
    probe, told = child(code, grace_s=0.3)
    await probe.start()
    await until(told, "\n")
    inner = int(told.getvalue().split("|")[1])
    await probe.stop()
    assert "did not end within" in told.getvalue()
    async with asyncio.timeout(5):
        while Path(f"/proc/{inner}").exists() and "Z" not in Path(f"/proc/{inner}/stat").read_text().split()[2]:
            await asyncio.sleep(0.01)


async def test_one_that_ends_while_starting_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    probe, _ = child("print('no such thing'); raise SystemExit(1)", log=log, ready=asyncio.Event().wait)
    with pytest.raises(ChildError, match=r"probe exited with code 1 while starting(.|\n)*no such thing"):
        await probe.start()


async def test_a_step_that_fails_is_an_error() -> None:
    probe, _ = child("raise SystemExit(4)")
    with pytest.raises(ChildError, match="exited with code 4"):
        await probe.once()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux alone ends a child with its parent")
def test_it_ends_with_a_supervisor_that_was_killed() -> None:
    code = (
        "import asyncio, sys\n"
        "from dashboard.supervise.child import *; from dashboard.supervise.console import *\n"
        "async def main():\n"
        "    inner = 'import os, time; print(os.getpid(), flush=True); time.sleep(60)'\n"
        "    await Child(Program(name='x', argv=(sys.executable, '-c', inner)), Console()).start()\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout
        inner = int(supervisor.stdout.readline().split("|")[1])
        supervisor.kill()
    until_s = time.monotonic() + 5
    while Path(f"/proc/{inner}").exists() and time.monotonic() < until_s:
        time.sleep(0.01)
    assert not Path(f"/proc/{inner}").exists()


def test_exits_are_told_in_words() -> None:
    assert describe(2) == "exited with code 2"
    assert describe(-9) == "was ended by SIGKILL"
    assert describe(-63) == "was ended by signal 63"

"""What an instance that was killed leaves behind."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from dashboard.embedded.stale import end_leftover


def sleeper(tmp_path: Path, name: str) -> subprocess.Popen[bytes]:
    program = tmp_path / name
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    return subprocess.Popen([program, "60"])


def test_a_server_that_outlived_its_supervisor_is_ended(tmp_path: Path) -> None:
    with sleeper(tmp_path, "postgres") as server:
        pid_file = tmp_path / "postmaster.pid"
        pid_file.write_text(f"{server.pid}\n/somewhere\n")
        end_leftover(pid_file, "postgres", signal.SIGTERM)
        assert server.wait() == -signal.SIGTERM
        assert not pid_file.exists()


def test_a_stranger_with_the_same_number_is_spared(tmp_path: Path) -> None:
    with sleeper(tmp_path, "bystander") as stranger:
        pid_file = tmp_path / "postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n")
        end_leftover(pid_file, "postgres", signal.SIGINT)
        assert stranger.poll() is None
        assert not pid_file.exists()
        stranger.kill()


def test_nonsense_and_nothing_are_no_obstacle(tmp_path: Path) -> None:
    pid_file = tmp_path / "valkey.pid"
    end_leftover(pid_file, "valkey-server", signal.SIGTERM)
    pid_file.write_text("")
    end_leftover(pid_file, "valkey-server", signal.SIGTERM)
    pid_file.write_text(f"{os.getpid()}")
    end_leftover(pid_file, "valkey-server", signal.SIGTERM)
    assert not pid_file.exists()

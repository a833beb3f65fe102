"""What is told before anything starts."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.embedded import StartError
from dashboard.supervise.checks import hold
from dashboard.supervise.options import Options, read_options
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def options(tmp_path: Path) -> Options:
    return read_options({"SIXSTAGE_DATA_DIR": str(tmp_path / "data"), **free_ports()})


def test_a_clear_field_is_held_and_can_be_held_again(options: Options) -> None:
    for _ in range(2):
        os.close(hold(options))


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_told_with_one_that_is_free(options: Options, host: str) -> None:
    with socket.create_server((host, options.ports["SIXSTAGE_PORT"])), pytest.raises(StartError) as told:
        hold(options)
    assert f"port {options.ports['SIXSTAGE_PORT']} on 127.0.0.1 (SIXSTAGE_PORT) is in use" in str(told.value)
    assert "SIXSTAGE_PORT=" in str(told.value)


def test_a_data_directory_in_use_is_told_with_its_holder(options: Options) -> None:
    lock = hold(options)
    try:
        with pytest.raises(StartError, match=rf"in use by another Sixstage, process {os.getpid()}\."):
            hold(options)
    finally:
        os.close(lock)


def test_everything_wrong_is_told_at_once(options: Options) -> None:
    lock = hold(options)
    ports = options.ports.values()
    with socket.create_server(("", min(ports))), socket.create_server(("", max(ports))):
        with pytest.raises(StartError) as told:
            hold(options)
        assert len(str(told.value).splitlines()) == 3
    os.close(lock)


def test_a_host_that_is_not_of_this_machine_is_told(tmp_path: Path) -> None:
    env = {"SIXSTAGE_DATA_DIR": str(tmp_path / "data"), "SIXSTAGE_HOST": "192.0.2.1", **free_ports()}
    with pytest.raises(StartError, match=r"SIXSTAGE_HOST=192\.0\.2\.1"):
        hold(read_options(env))


def test_the_command_says_so_and_starts_nothing(tmp_path: Path) -> None:
    ports = free_ports()
    env = {**os.environ, "SIXSTAGE_DATA_DIR": str(tmp_path / "data"), **ports}
    for name in ("SIXSTAGE_DATABASE_URL", "SIXSTAGE_REDIS_URL"):
        env.pop(name, None)
    with socket.create_server(("127.0.0.1", int(ports["SIXSTAGE_OTLP_GRPC_PORT"]))):
        done = subprocess.run(
            [sys.executable, "-m", "dashboard.up"],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("sixstage cannot start, and has started nothing:\n  - port ")
    assert not (tmp_path / "data" / "postgres").exists()

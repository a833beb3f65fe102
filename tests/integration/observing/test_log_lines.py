"""A process in production: every line that it writes is one JSON object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.polling import until
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def ports() -> dict[str, str]:
    return free_ports()


@pytest.fixture
def receiver(ports: dict[str, str], tmp_path: Path) -> Iterator[Path]:
    """Its standard error, while it runs without a database."""
    lines = tmp_path / "stderr"
    settings = {
        "SIXSTAGE_LOG_FORMAT": "json", "SIXSTAGE_DATA_DIR": str(tmp_path), "SIXSTAGE_REDIS_URL": "unix:///nonexistent",
        "SIXSTAGE_DATABASE_URL": "postgresql://none@/none?host=/nonexistent",
    }  # fmt: skip
    with lines.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "ingest.otlp.serve"], cwd=ROOT, env=os.environ | settings | ports, stderr=stderr
        )
    yield lines
    process.terminate()
    process.wait(30)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 405
    except httpx.TransportError:
        return False


def test_every_line_is_an_object_and_names_its_request(receiver: Path, ports: dict[str, str]) -> None:
    url = f"http://127.0.0.1:{ports['SIXSTAGE_OTLP_HTTP_PORT']}/v1/traces"
    until(lambda: answers(url), 60, "the receiver answers")
    sent = {"content-type": "application/x-protobuf", "x-request-id": "checkout-7"}
    answer = httpx.post(url, content=b"", headers=sent, timeout=30)
    assert (answer.status_code, answer.headers["x-request-id"]) == (503, "checkout-7")
    until(lambda: "checkout-7" in receiver.read_text(), 10, "the refusal is logged")
    told = [json.loads(line) for line in receiver.read_text().splitlines()]
    [refusal] = [line for line in told if line.get("request_id") == "checkout-7"]
    assert refusal["process"] == "receiver"
    assert refusal["level"] == "warning"
    assert "the database is not reachable" in refusal["message"]
    assert all({"time", "level", "logger", "message", "process", "pid"} <= line.keys() for line in told)

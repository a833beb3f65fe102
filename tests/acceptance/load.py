"""A load that runs beside a test: what it has sent, what was acknowledged, and what the runs must show."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.instance import ROOT, Instance

SPANS_A_UNIT = 1536  # 128 whole traces of 12 spans


@dataclass
class Load:
    process: "subprocess.Popen[str]"
    folder: Path

    def acknowledged(self) -> list[str]:
        """The ids of all spans whose batch was answered with 200."""
        path = self.folder / "acked"
        return path.read_text().split() if path.exists() else []

    def has_acknowledged(self, spans: int) -> bool:
        assert self.process.poll() in (None, 0), self.process.communicate()
        return len(self.acknowledged()) >= spans

    def result(self, within_s: float) -> dict[str, Any]:
        """What the generator says of itself, once it has ended."""
        told, _ = self.process.communicate(timeout=within_s)
        assert self.process.returncode == 0
        return json.loads(told)

    def truths(self) -> dict[str, dict[str, Any]]:
        """What the run of each trace must show, by trace id."""
        lines = (self.folder / "truth").read_text().splitlines()
        return {truth["trace_id"]: truth for truth in map(json.loads, lines)}


@contextmanager
def load(instance: Instance, folder: Path, spans: int, rate: int, within_s: int = 120, seed: int = 7) -> Iterator[Load]:
    """Whole traces at a steady rate over four connections; a batch is tried until it is acknowledged."""
    assert spans % SPANS_A_UNIT == 0
    command = [sys.executable, str(ROOT / "tests/tools/otlp_load.py"), f"{instance.otlp_http}/v1/traces"]
    limits = {"duration": within_s, "max-retries": 1000, "backoff": 0.2, "timeout": 20}
    options = {"spans": spans, "rate": rate, "seed": seed} | limits
    files = {"acked-ids": folder / "acked", "truth": folder / "truth"}
    process = subprocess.Popen(
        [*command, *(f"--{name}={value}" for name, value in (options | files).items())],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Load(process, folder)
    finally:
        process.kill()
        process.communicate()

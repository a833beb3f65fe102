"""The examples of docs/agents.md run as they stand, against the engine that the page says to start."""

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.agents.otlp_collector import Collector

ROOT = Path(__file__).parents[3]
EXAMPLES = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "agents.md").read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def engine() -> Iterator[str]:
    """The URL of ``python -m agents.engine`` on a free port."""
    command = [sys.executable, "-m", "agents.engine", "--port", "0", "--speed", "20"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        found = re.search(r"http://\S+/v1", running.stdout.readline())
        assert found
        yield found[0]
        running.terminate()


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_runs(number: int, engine: str) -> None:
    with Collector() as collector:
        program = EXAMPLES[number].replace("http://127.0.0.1:8100/v1", engine)
        program = program.replace('"server.py"', repr(str(Path(__file__).with_name("mcp_server.py"))))
        program = re.sub(r'Telemetry\("(\w+)"', rf'Telemetry("\1", endpoint="{collector.url}"', program)
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(program, f"docs/agents.md, example {number}", "exec"), {"__name__": "example"})

    assert bool(collector.spans) is ("Telemetry" in program)


def test_there_are_examples_and_each_is_short() -> None:
    assert len(EXAMPLES) >= 4
    for example in EXAMPLES:
        statements = [line for line in example.splitlines() if line.strip() and "import" not in line]
        assert len(statements) <= 16

"""All captures of agents together with the vLLM that served them: were the two joined, by trace or by response id?"""

import sys
import time

import pytest

from tests.captures import Capture, captures
from tests.instance import Instance
from tests.tools import judge as one_side

sys.modules.setdefault("judge", one_side)  # the name by which judge_joined.py, a script, knows its neighbour
from tests.tools.judge_joined import judge  # noqa: E402

JOINED = captures("joined")
ALL_SETTLED_WITHIN_S = 60


@pytest.fixture(scope="module")
def faults(instance: Instance) -> dict[str, list[str]]:
    """What went wrong while sending: everything is sent before anything is read."""
    return {capture.name: one_side.send(instance.web, capture.folder) for capture in JOINED}


@pytest.fixture(scope="module")
def settled_until_s(faults: dict[str, list[str]]) -> float:
    return time.monotonic() + ALL_SETTLED_WITHIN_S


@pytest.mark.parametrize("capture", JOINED, ids=lambda capture: capture.name)
def test_it_joins_the_capture_right(
    instance: Instance, faults: dict[str, list[str]], settled_until_s: float, capture: Capture
) -> None:
    wait_s = max(0.0, settled_until_s - time.monotonic())

    checks = judge(instance.web, capture.folder, faults[capture.name], wait_s)

    has_agents = (capture.folder / "expected.json").exists()  # the engine's start has none
    assert {"accepted", "exact" if has_agents else "alone"} <= checks.keys()
    assert {name: wrong for name, wrong in checks.items() if wrong} == {}

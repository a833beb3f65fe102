"""All captures of real SDKs, sent as they were received, held against the true timelines of their agents."""

import time

import pytest

from tests.captures import Capture, captures
from tests.instance import Instance
from tests.tools.judge import judge, send

CORPUS = captures("corpus")
ALL_SETTLED_WITHIN_S = 60


@pytest.fixture(scope="module")
def faults(instance: Instance) -> dict[str, list[str]]:
    """What went wrong while sending: everything is sent before anything is read."""
    return {capture.name: send(instance.web, capture.folder) for capture in CORPUS}


@pytest.fixture(scope="module")
def settled_until_s(faults: dict[str, list[str]]) -> float:
    return time.monotonic() + ALL_SETTLED_WITHIN_S


@pytest.mark.parametrize("capture", CORPUS, ids=lambda capture: capture.name)
def test_it_reads_the_capture_right(
    instance: Instance, faults: dict[str, list[str]], settled_until_s: float, capture: Capture
) -> None:
    wait_s = max(0.0, settled_until_s - time.monotonic())

    checks = judge(instance.web, capture.folder, faults[capture.name], wait_s)

    assert {"accepted", "exact"} <= checks.keys()
    assert {name: wrong for name, wrong in checks.items() if wrong} == {}

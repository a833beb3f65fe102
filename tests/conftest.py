"""What every folder of tests may ask for."""

from collections.abc import Iterator

import pytest

from tests.instance import Instance, running_instance


@pytest.fixture(scope="session")
def instance() -> Iterator[Instance]:
    """The whole product, one for all tests of a run that need no other state than their own traces.

    `--dist loadgroup` brings these tests to one worker; under another distribution each worker has its own.
    A run without a root counts as settled after 5 s here, so that nobody waits for 30.
    """
    with running_instance(SIXSTAGE_TRACE_IDLE_S="5", SIXSTAGE_WORKERS="1") as running:
        yield running


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "instance" in getattr(item, "fixturenames", ()) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group("instance"))

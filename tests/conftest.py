"""What every folder of tests may ask for."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests.instance import Instance, running_instance


@pytest.fixture(scope="session")
def instance() -> Iterator[Instance]:
    """The whole product, one for all tests of a run that need no other state than their own traces.

    A run without a root counts as settled after 5 s here, so that nobody waits for 30.
    """
    with running_instance(SIXSTAGE_TRACE_IDLE_S="5", SIXSTAGE_WORKERS="1") as running:
        yield running


if "PYTEST_XDIST_WORKER" not in os.environ:

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
        """Whole files go to a worker, in the order of their collection, and all that share the instance to the same.

        (`--dist loadgroup` would do it, but pytest 9 does not see the names that xdist 3.8 gives to groups.)
        """
        from tests.distribution import FilesAndInstance

        config.option.loadscopereorder = False
        return FilesAndInstance(config, log)

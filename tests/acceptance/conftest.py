"""Acceptance: real bytes in, API and WebSocket out, through the processes that `make up` starts."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Starting an instance counts against the first test that asks for one."""
    for item in items:
        if "/acceptance/" in item.path.as_posix() and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(240))

"""A pytest plugin: PostgreSQL and Valkey for the run, started before Django reads its settings.

Loaded by `-p tests.services` in pyproject.toml, so run it as `python -m pytest`. The controller starts the
services once, in a directory of their own; parallel workers find them by the environment, and each takes its
own Valkey database beside the test database that pytest-django gives it. Nothing here ever looks at the
`.data` of somebody's instance.
"""

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dashboard.embedded import services

NEED_NONE = ("tests/unit", "tests/property")
running = ExitStack()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Around all others, since pytest-django loads the settings in this hook."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        _set_up(early_config)
    else:
        number = int(worker.removeprefix("gw")) + 1
        os.environ["SIXSTAGE_REDIS_URL"] = f"{os.environ['SIXSTAGE_REDIS_URL']}?db={number}"
    return (yield)


def pytest_unconfigure() -> None:
    running.close()


def _set_up(config: pytest.Config) -> None:
    """The run's environment: none of the developer's own settings, and services if anything needs them."""
    for name in [name for name in os.environ if name.startswith("SIXSTAGE_")]:
        del os.environ[name]
    folder = Path(tempfile.mkdtemp(prefix="sixstage-tests-"))
    running.callback(shutil.rmtree, folder, ignore_errors=True)
    os.environ["SIXSTAGE_DATA_DIR"] = str(folder / "data")
    if _wanted(config.known_args_namespace):
        urls = running.enter_context(services(folder / "data", fsync=False))
        os.environ["SIXSTAGE_DATABASE_URL"], os.environ["SIXSTAGE_REDIS_URL"] = urls
    else:
        os.environ["SIXSTAGE_DATABASE_URL"] = "postgresql://none@/none?host=/nonexistent"
        os.environ["SIXSTAGE_REDIS_URL"] = "unix:///nonexistent"


def _wanted(options: object) -> bool:
    """Whether anything but unit and property tests is asked for."""
    if any(getattr(options, name, False) for name in ("help", "version", "collectonly")):
        return False
    root = Path(__file__).resolve().parents[1]
    asked = [Path(name.partition("::")[0]).resolve() for name in getattr(options, "file_or_dir", [])]
    free = [root / name for name in NEED_NONE]
    return not asked or not all(any(path.is_relative_to(folder) for folder in free) for path in asked)

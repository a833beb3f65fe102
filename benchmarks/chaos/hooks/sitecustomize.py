"""Imported by every Python process of the instance under test, by way of PYTHONPATH; the product knows nothing of it.

Where CHAOS_ORDERS names a folder, the functions of POINTS look there each time they are passed. A file with a point's
name is an order: whoever removes it kills itself there, as `kill -9` would. A file `clock` (for all) or `clock.<pid>`
holds the nanoseconds by which that process's clock is wrong.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import signal
import sys
import time
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

ORDERS = Path(os.environ.get("CHAOS_ORDERS", "/nonexistent"))
real_time_ns = time.time_ns
storing: ContextVar[bool] = ContextVar("storing", default=False)


def die_if_ordered(point: str) -> None:
    try:
        (ORDERS / point).unlink()
    except OSError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def before(point: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        die_if_ordered(point)
        return function(*args, **kwargs)

    return wrapped


def after(point: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        answer = function(*args, **kwargs)
        if answer or answer is None:  # a pass that found nothing has not come by
            die_if_ordered(point)
        return answer

    return wrapped


def store(module: Any) -> None:
    """Its commit happens when the connection goes back to its pool, so psycopg's own is watched while storing."""
    write, commit = module.Store._write, module.psycopg.AsyncConnection.commit

    async def _write(*args: Any) -> None:
        token = storing.set(True)
        try:
            await write(*args)
        finally:
            storing.reset(token)
        die_if_ordered("receiver-after-commit")

    async def commit_watched(connection: Any) -> None:
        if storing.get():
            die_if_ordered("receiver-before-commit")
        await commit(connection)

    module.Store._write, module.psycopg.AsyncConnection.commit = _write, commit_watched


def decomposing(module: Any) -> None:
    module._decompose_each = after("worker-after-decompose", module._decompose_each)


def leases(module: Any) -> None:
    module.claim = after("worker-after-claim", module.claim)


def rows(module: Any) -> None:
    module.Rows.copy = after("worker-after-copy", module.Rows.copy)


def live(module: Any) -> None:
    announce = module.announce
    watched = before("worker-before-announce", announce)
    module.announce = lambda runs: (watched if runs else announce)(runs)


WATCHED = {
    "ingest.store": store,
    "ingest.leases": leases,
    "ingest.decomposing": decomposing,
    "ingest.rows": rows,
    "ingest.live": live,
}


class Finder(importlib.abc.MetaPathFinder):
    """Finds the watched modules as ever, and wraps their functions once they are executed."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in WATCHED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def run_and_wrap(module: Any) -> None:
                run(module)
                WATCHED[name](module)

            spec.loader.exec_module = run_and_wrap  # type: ignore[method-assign]
        return spec


def shifted_time_ns() -> int:
    for name in ("clock", f"clock.{os.getpid()}"):
        try:
            return real_time_ns() + int((ORDERS / name).read_text())
        except (OSError, ValueError):
            continue
    return real_time_ns()


if "CHAOS_ORDERS" in os.environ:
    sys.meta_path.insert(0, Finder())
    time.time_ns = shifted_time_ns

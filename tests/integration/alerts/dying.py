"""A process that evaluates, stores and sends, and dies at a named point as by kill -9. Run by ``test_killed``:

    python -m tests.integration.alerts.dying POINT FROM_MINUTE TO_MINUTE

The points are put around functions of the product from outside; it has no hooks itself.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
django.setup()

from dashboard.alerts import bundling, evaluating, sending, storing
from tests.integration.alerts.clock import minute_ns

# Each is a module, a function in it, and whether to die before or after it.
POINTS: dict[str, tuple[Any, str, bool]] = {
    "claimed, not evaluated": (evaluating, "evaluate", False),
    "evaluated, not stored": (evaluating, "store", False),
    "in the transaction, fired": (storing, "fire", True),
    "in the transaction, event written": (storing, "emit", True),
    "stored": (evaluating, "store", True),
    "bundling": (bundling, "compose", True),
    "bundled": (bundling, "bundle_due", True),
    "claimed, not sent": (sending, "target_of", False),
    "sent, not noted": (sending, "note", False),
    "noted": (sending, "note", True),
}  # fmt: skip


def put(point: str) -> None:
    module, name, after = POINTS[point]
    real: Callable[..., Any] = getattr(module, name)

    def dying(*given: Any, **named: Any) -> Any:
        if not after:
            os.kill(os.getpid(), signal.SIGKILL)
        made = real(*given, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        return made

    setattr(module, name, dying)


def main(point: str, first: int, last: int) -> None:
    put(point)
    for minute in range(first, last):
        now_ns = minute_ns(minute)
        evaluating.evaluate_due(now_ns)
        bundling.remind(now_ns)
        bundling.bundle_due(now_ns)
        sending.send_due(now_ns)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

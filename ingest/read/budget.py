"""Questions that may take too long: asked within what time is left, or given up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import transaction
from django.db.utils import OperationalError

T = TypeVar("T")
CANCELLED = "57014"


class Budget:
    """Seconds for several questions together."""

    def __init__(self, seconds: float) -> None:
        self.until_s = time.monotonic() + seconds

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until_s

    def ask(self, cursor: Any, question: Callable[[], T]) -> T | None:
        """The answer, or None where the time was up before it was there."""
        left_ms = int((self.until_s - time.monotonic()) * 1000)
        if left_ms <= 0:
            return None
        try:
            with transaction.atomic():
                cursor.execute(f"SET LOCAL statement_timeout = {left_ms}")
                answer = question()
                cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
                return answer
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", None) != CANCELLED:
                raise
            return None

"""Many tabs are as cheap as one: what one of them has just asked for answers the others too."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

KEPT_MOST = 256
T = TypeVar("T")


class Coalesced(Generic[T]):
    """Answers of this process by what was asked, each for a moment. A question is worked out once for all who ask it
    meanwhile."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()
        self._locks: dict[Hashable, threading.Lock] = {}
        self._guard = threading.Lock()

    def answer(self, question: Hashable, max_age_s: float, work_out: Callable[[], T]) -> T:
        """An answer that was begun no longer ago than ``max_age_s``."""
        with self._guard:
            lock = self._locks.setdefault(question, threading.Lock())
        with lock:
            kept = self._kept.get(question)
            if kept is not None and time.monotonic() - kept[0] <= max_age_s:
                return kept[1]
            begun_s = time.monotonic()
            try:
                answer = work_out()
            except BaseException:
                with self._guard:
                    self._locks.pop(question, None)
                raise
            with self._guard:
                self._kept[question] = (begun_s, answer)
                self._kept.move_to_end(question)
                while len(self._kept) > KEPT_MOST:
                    self._locks.pop(self._kept.popitem(last=False)[0], None)
            return answer


coalesced: Coalesced[bytes] = Coalesced()

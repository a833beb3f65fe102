"""In which hours the runs that are highest in something (their wall time, a stage, their tokens) ended, as bins of
rollups tell: so a list in that order looks only there, however long its range."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.read.query.keys import needs_full
from ingest.read.windows import LONGEST_DAY_NS, Window, fitting_keys, stored_within, waiting_windows
from ingest.rollups.bins import bin_bounds
from ingest.rollups.counting import METRICS, Kind
from ingest.rollups.horizon import kept_from
from ingest.rollups.packing import top_bin
from ingest.rollups.steps import HOUR_NS, Step

if TYPE_CHECKING:
    from ingest.read.runs import RunFilter

CELLS = """
    SELECT start_unix_ns, body FROM ingest_rollup
    WHERE project_id = %s AND step = %s AND kind = 0 AND key_id = ANY(%s::int[])
      AND start_unix_ns > %s AND start_unix_ns < %s
"""
ANYTHING = 2**63 - 1
ROUNDED = 1e-9  # which bin a value at its border comes into hangs on how a logarithm is rounded
NOT_TOLD = -1  # by which those without a value are ordered


class Height(NamedTuple):
    """No run that fits and ended in the window has more than ``most``."""

    most: int
    window: Window


class Heights:
    """All of a filter's range before an instant in which its runs may have ended, apart from each other, highest
    first. What is not folded yet may be anything. Hours are read of those days alone that somebody comes to."""

    def __init__(self, cursor: Any, project_id: int, wanted: RunFilter, metric: str, before_ns: int) -> None:
        self.cursor, self.project_id = cursor, project_id
        self.within = within = stored_within(cursor, project_id, wanted, before_ns)
        self.metric = METRICS[Kind.RUN].index(metric)
        self.is_plain = wanted.version is None and wanted.model is None and not needs_full(wanted.query)
        self.keys = fitting_keys(cursor, project_id, wanted)
        self.hours_from_ns = kept_from(cursor).hours_from_ns
        self.taken = list(_joined(waiting_windows(cursor, project_id)))
        days = self._tops(Step.PLAIN_DAY if self.is_plain else Step.DAY, within.from_ns - LONGEST_DAY_NS, within.to_ns)
        # Negative, since the least comes first; whether it is a day of which the hours tell more; where.
        self.heap = [(-ANYTHING, False, window) for window in self.taken]
        for start, after in pairwise([*sorted(days), ANYTHING]):
            day = Window(start, min(start + LONGEST_DAY_NS, after))
            self.heap.append((-days[start], start >= self.hours_from_ns, day))
        heapq.heapify(self.heap)

    def __iter__(self) -> Iterator[Height]:
        while self.heap:
            most, is_day, window = heapq.heappop(self.heap)
            if not is_day:
                yield from (Height(-most, part) for part in self._parts(window, whole=most == -ANYTHING))
                continue
            for entry in self._hours(most, window):
                heapq.heappush(self.heap, entry)

    def latest_ns(self) -> int:
        """Until when something ended at which nobody has looked."""
        return max((window.to_ns for _, _, window in self.heap), default=self.within.from_ns)

    def _hours(self, most: int, day: Window) -> Iterator[tuple[int, bool, Window]]:
        """In zones of half-hours one may begin in one day and end in the next: of it what lies in this one."""
        tops = self._tops(Step.PLAIN_HOUR if self.is_plain else Step.HOUR, day.from_ns - HOUR_NS, day.to_ns)
        for start, top in tops.items():
            yield max(-top, most), False, Window(max(start, day.from_ns), min(start + HOUR_NS, day.to_ns))

    def _tops(self, step: Step, after_ns: int, before_ns: int) -> dict[int, int]:
        """By begin of a step."""
        found: defaultdict[int, int] = defaultdict(lambda: NOT_TOLD)
        self.cursor.execute(CELLS, [self.project_id, int(step), self.keys, after_ns, before_ns])
        for start, body in self.cursor.fetchall():
            top = top_bin(body, self.metric)
            found[start] = max(found[start], NOT_TOLD if top is None else ceil(bin_bounds(top)[1] * (1 + ROUNDED)))
        return found

    def _parts(self, window: Window, *, whole: bool) -> Iterator[Window]:
        """What of it lies in the range, and in no window that was given already."""
        from_ns = max(window.from_ns, self.within.from_ns)
        to_ns = min(window.to_ns, self.within.to_ns)
        for taken in () if whole else self.taken:
            if taken.from_ns < to_ns and taken.to_ns > from_ns:
                if from_ns < taken.from_ns:
                    yield Window(from_ns, taken.from_ns)
                from_ns = taken.to_ns
        if from_ns < to_ns:
            yield Window(from_ns, to_ns)


def _joined(windows: Iterable[Window]) -> Iterator[Window]:
    """In order, those that touch or overlap as one."""
    last: Window | None = None
    for window in sorted(windows):
        if last is not None and window.from_ns <= last.to_ns:
            last = Window(last.from_ns, max(last.to_ns, window.to_ns))
            continue
        if last is not None:
            yield last
        last = window
    if last is not None:
        yield last

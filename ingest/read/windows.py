"""When runs that may fit a filter ended, as their rollups tell: so a list looks only there, however rare they are."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ingest.read.query.keys import fits_key, narrows
from ingest.rollups.counting import MINUTE_NS, Flag, Key, Kind
from ingest.rollups.horizon import kept_from
from ingest.rollups.kept import read_keys
from ingest.rollups.steps import HOUR_NS, Step

if TYPE_CHECKING:
    from ingest.read.runs import RunFilter

IN_KEYS = ("service", "version", "environment", "agent", "model", "status")
LONGEST_DAY_NS = 26 * HOUR_NS
BEGINS = """
    FROM ingest_rollup WHERE project_id = %s AND step = %s AND kind = 0 AND key_id = ANY(%s::int[])
      AND start_unix_ns > %s AND start_unix_ns < %s ORDER BY start_unix_ns DESC
"""
WAITING = "SELECT first_minute, last_minute FROM ingest_rollup_delta WHERE project_id = %s"
ENDS = "SELECT min(end_unix_ns), max(end_unix_ns) FROM ingest_run WHERE project_id = %s"
_FAILED = int(Flag.FAILED)


class Window(NamedTuple):
    from_ns: int
    to_ns: int


def keys_narrow(wanted: RunFilter) -> bool:
    """Whether keys of runs tell anything of what the filter asks for."""
    return any(getattr(wanted, name) is not None for name in IN_KEYS) or narrows(wanted.query)


def fits(wanted: RunFilter, kind: Kind, key: Key) -> bool:
    """Whether what counts under a key fits, as far as keys tell."""
    for name in ("service", "version", "environment", "agent"):
        value = getattr(wanted, name)
        if value is not None and getattr(key, name) != value:
            return False
    if not fits_key(wanted.query, kind, key):
        return False
    if wanted.status is not None and bool(key.flags & _FAILED) != (wanted.status == "error"):
        return False
    return wanted.model is None or (wanted.model == key.own if kind is Kind.CALL else wanted.model in key.models)


def windows(cursor: Any, project_id: int, wanted: RunFilter, before_ns: int, now_ns: int) -> Iterator[Window]:
    """Newest first and apart from each other: all of the filter's range before an instant in which such runs may
    have ended."""
    from_ns, before_ns = within = stored_within(cursor, project_id, wanted, before_ns)
    if from_ns >= before_ns:
        return
    told = wanted.status != "open" and keys_narrow(wanted)
    for window in _told(cursor, project_id, wanted, within) if told else _slices(within, now_ns):
        clipped = Window(max(window.from_ns, from_ns), min(window.to_ns, before_ns))
        if clipped.from_ns < clipped.to_ns:
            yield clipped
            before_ns = clipped.from_ns


def stored_within(cursor: Any, project_id: int, wanted: RunFilter, before_ns: int) -> Window:
    """The filter's range before an instant, as far as there are runs."""
    cursor.execute(ENDS, [project_id])
    from_ns, last_ns = cursor.fetchone()
    if from_ns is None:
        return Window(0, 0)
    from_ns = from_ns if wanted.from_unix_ns is None else max(from_ns, wanted.from_unix_ns)
    return Window(from_ns, min(before_ns, last_ns + 1))


def _slices(within: Window, now_ns: int) -> Iterator[Window]:
    """Where no rollup tells: everything, in slices that grow. What has ended in the future comes first."""
    end_ns, length_ns = min(within.to_ns, now_ns), HOUR_NS
    yield Window(end_ns, within.to_ns)
    while end_ns > within.from_ns:
        yield Window(end_ns - length_ns, end_ns)
        end_ns, length_ns = end_ns - length_ns, length_ns * 2


def _told(cursor: Any, project_id: int, wanted: RunFilter, within: Window) -> Iterator[Window]:
    """By the ends of windows. What is not folded yet may be anything."""
    waiting = sorted(waiting_windows(cursor, project_id), key=lambda window: -window.to_ns)
    hours = _hours(cursor, project_id, fitting_keys(cursor, project_id, wanted), within)
    yield from heapq.merge(waiting, hours, key=lambda window: -window.to_ns)


def waiting_windows(cursor: Any, project_id: int) -> list[Window]:
    """Of what is not folded yet."""
    cursor.execute(WAITING, [project_id])
    return [Window(first * MINUTE_NS, (last + 1) * MINUTE_NS) for first, last in cursor.fetchall()]


def fitting_keys(cursor: Any, project_id: int, wanted: RunFilter) -> list[int]:
    """Keys of runs under which something that fits may count."""
    keys = read_keys(cursor, project_id).items()
    return [key_id for key_id, key in keys if key.is_other or fits(wanted, Kind.RUN, key)]


def _hours(cursor: Any, project_id: int, key_ids: list[int], within: Window) -> Iterator[Window]:
    """Hours that hold any of the keys, those beside each other together; of days whose hours are kept no more the
    whole day."""

    hours_from_ns = kept_from(cursor).hours_from_ns
    before_ns = within.to_ns if key_ids else within.from_ns - LONGEST_DAY_NS
    while before_ns > within.from_ns - LONGEST_DAY_NS:  # day by day: a run that is not rare is found in the first
        cursor.execute(
            f"SELECT start_unix_ns {BEGINS} LIMIT 1",
            [project_id, int(Step.DAY), key_ids, within.from_ns - LONGEST_DAY_NS, before_ns],
        )
        (day_ns,) = cursor.fetchone() or (None,)
        if day_ns is None:
            return
        before_ns = day_ns
        if day_ns < hours_from_ns:
            yield Window(day_ns, day_ns + LONGEST_DAY_NS)
            continue
        cursor.execute(
            f"SELECT DISTINCT start_unix_ns {BEGINS}",
            [project_id, int(Step.HOUR), key_ids, day_ns - HOUR_NS, day_ns + LONGEST_DAY_NS],
        )
        hours = [hour_ns for (hour_ns,) in cursor.fetchall()]
        run: Window | None = None
        for hour_ns in hours:
            if run is not None and hour_ns + HOUR_NS == run.from_ns:
                run = Window(hour_ns, run.to_ns)
                continue
            if run is not None:
                yield run
            run = Window(hour_ns, hour_ns + HOUR_NS)
        if run is not None:
            yield run

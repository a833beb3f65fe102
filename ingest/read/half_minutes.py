"""Sums of half-minutes, which no rollup holds: counted from rows, and again only where the minute's rollup says that it
has changed. So a chart that is asked for every few seconds counts the running minute, not its whole range. Where runs
are many it is told by minutes: counting them took two seconds of PostgreSQL's CPU at 400 runs a second."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ingest.costs import Cost
from ingest.read.figuring import Sums
from ingest.read.runs import RunFilter
from ingest.read.summary import Question, sums_by_step
from ingest.rollups.counting import Cell, Kind
from ingest.rollups.steps import MINUTE_NS
from ingest.scope import Scope

STEP_S, WHOLE_S = 30, 60
RUNS_MOST = 2_000  # of a minute that is cut in halves
PROJECTS_MOST = 16


Told = tuple[dict[tuple[Kind, int], Cell], Cost]  # a minute's cells by kind and flags, and what its calls cost


@dataclass(frozen=True, slots=True)
class Minute:
    """``whole`` is what its rollup said before its ``halves`` were counted, each with its begin."""

    whole: Told
    halves: list[tuple[int, Sums]]


_kept: OrderedDict[Scope, dict[int, Minute]] = OrderedDict()
_guard = threading.Lock()


def sums_of_half_minutes(
    scope: Scope, from_unix_ns: int, to_unix_ns: int, now_ns: int
) -> tuple[int, list[tuple[int, Sums]]]:
    """Begin and sums of each half-minute that begins in a range of whole minutes, or of each minute where one of them
    has more than RUNS_MOST runs. First the seconds of a step."""
    whole_sums = [(start, sums) for start, _, sums in _sums(scope, from_unix_ns, to_unix_ns, WHOLE_S, now_ns)]
    if any(sums.runs > RUNS_MOST for _, sums in whole_sums):
        return WHOLE_S, whole_sums
    with _guard:
        kept = _kept.get(scope, {})
    wholes = {start: _told(sums) for start, sums in whole_sums}
    minutes = {
        start: minute for start, whole in wholes.items() if (minute := kept.get(start)) and minute.whole == whole
    }
    empty = {start for start, (cells, _) in wholes.items() if not cells}
    minutes |= {start: Minute(wholes[start], [(start, Sums()), (start + MINUTE_NS // 2, Sums())]) for start in empty}
    for first, last in _together(start for start in wholes if start not in minutes):
        halves = [(start, sums) for start, _, sums in _sums(scope, first, last, STEP_S, now_ns)]
        for first_half, second_half in zip(halves[::2], halves[1::2], strict=True):
            minutes[first_half[0]] = Minute(wholes[first_half[0]], [first_half, second_half])
    with _guard:
        _kept[scope] = minutes
        _kept.move_to_end(scope)
        while len(_kept) > PROJECTS_MOST:
            _kept.popitem(last=False)
    return STEP_S, [half for start in wholes for half in minutes[start].halves]


def _sums(scope: Scope, from_ns: int, to_ns: int, step_s: int, now_ns: int) -> list[tuple[int, int, Sums]]:
    window = RunFilter(from_unix_ns=from_ns, to_unix_ns=to_ns)
    return sums_by_step(scope, Question(wanted=window, step=str(step_s), zone="UTC"), now_ns).steps


def _told(sums: Sums) -> Told:
    return {place: pile.as_cell() for place, pile in sums.cells.items()}, sums.cost


def _together(starts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Minutes that follow each other as one range."""
    first = last = None
    for start in starts:
        if start != last:
            if first is not None and last is not None:
                yield first, last
            first = start
        last = start + MINUTE_NS
    if first is not None and last is not None:
        yield first, last

"""What engines counted over weeks: the figures of series whose steps are as long, from few samples.

Between the first and the last sample of a day nothing broke off if both belong to one stretch, so these two tell of all
of it, and the others are not read. Only days in which something did are looked at as series are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from django.db import connection

from ingest.engines.store import day_of, longest_gap_ns
from ingest.engines.windows import EMPTY, Window
from ingest.models import EngineTarget
from ingest.read.engine_samples import End, read_ends, read_samples, steps_of
from ingest.scope import Scope

MOST_ENGINES = 100
_END = """
    SELECT at_unix_ns, stretch FROM (
        (SELECT at_unix_ns, stretch FROM ingest_engine_sample WHERE {where} ORDER BY at_unix_ns {order} LIMIT 1)
        UNION ALL
        (SELECT at_unix_ns, stretch FROM ingest_engine_minute WHERE {where} ORDER BY at_unix_ns {order} LIMIT 1)
    ) AS ends ORDER BY at_unix_ns {order} LIMIT 1
"""
_WHERE = """
    target_id = wanted.target_id AND project_id = %(project)s AND day BETWEEN wanted.first_day AND wanted.last_day
    AND at_unix_ns >= wanted.from_ns AND at_unix_ns < wanted.to_ns
"""
FIRST_AND_LAST = f"""
    SELECT wanted.target_id, wanted.step, wanted.from_ns, wanted.to_ns, early.at_unix_ns, early.stretch,
           late.at_unix_ns, late.stretch
    FROM unnest(%(targets)s::int[], %(steps)s::int[], %(from_ns)s::bigint[], %(to_ns)s::bigint[],
                %(first_days)s::date[], %(last_days)s::date[])
        AS wanted (target_id, step, from_ns, to_ns, first_day, last_day)
    CROSS JOIN LATERAL ({_END.format(where=_WHERE, order="")}) AS early
    CROSS JOIN LATERAL ({_END.format(where=_WHERE, order="DESC")}) AS late
    ORDER BY wanted.target_id, wanted.step
"""
_NO_GAUGES = (None,) * 6


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginePeriods:
    """A target's counts by period; of the first one by its days too."""

    id: int
    name: str
    whole: list[Window]
    days: list[Window]


class _Span(NamedTuple):
    """A step of a target that is looked at; before the first one there is that of a gap, for what came to it."""

    target: int
    step: int
    from_ns: int
    to_ns: int


def read_periods(
    scope: Scope, periods: Sequence[Sequence[int]], metrics: Collection[str]
) -> tuple[list[EnginePeriods], int]:
    """Of all targets of the project that have samples in one of the periods, each given by the bounds of its days; and
    how many targets there are beyond the most that are looked at."""
    targets = list(EngineTarget.objects.filter(project_id=scope.project_id).order_by("name", "pk"))
    intervals = {target.pk: target.interval_ms for target in targets[:MOST_ENGINES]}
    by_day = [_ends(scope, intervals, bounds) for bounds in periods] if intervals else []
    told = [by_day[0], *({t: list(_joined(ends)) for t, ends in found.items()} for found in by_day)] if by_day else []
    samples = read_samples(
        [(t, at) for found in told for t, ends in found.items() for end in ends for at in (end.first, end.last)]
    )
    rows = []
    for target in targets[:MOST_ENGINES]:
        days, *whole = (
            steps_of(target.pk, found[target.pk], samples, longest_gap_ns(target.interval_ms), metrics)
            for found in told
        )  # fmt: skip
        if any(whole):
            rows.append(EnginePeriods(
                id=target.pk, name=target.name, whole=[one[0].window if 0 in one else EMPTY for one in whole],
                days=[step.window for _, step in sorted(days.items())],
            ))  # fmt: skip
    return rows, max(0, len(targets) - MOST_ENGINES)


def _ends(scope: Scope, intervals: dict[int, int], bounds: Sequence[int]) -> dict[int, list[End]]:
    """The stretches of each day, in order."""
    spans = [
        _Span(target, step, from_ns, to_ns)
        for target, interval_ms in intervals.items()
        for step, (from_ns, to_ns) in enumerate(pairwise([bounds[0] - longest_gap_ns(interval_ms), *bounds]), -1)
    ]
    found: dict[int, list[End]] = {target: [] for target in intervals}
    with connection.cursor() as cursor:
        cursor.execute(FIRST_AND_LAST, {
            "project": scope.project_id, "targets": [span.target for span in spans],
            "steps": [span.step for span in spans], "from_ns": [span.from_ns for span in spans],
            "to_ns": [span.to_ns for span in spans], "first_days": [day_of(span.from_ns) for span in spans],
            "last_days": [day_of(span.to_ns) for span in spans],
        })  # fmt: skip
        rows = cursor.fetchall()
    for target, step, from_ns, to_ns, first_ns, stretch, last_ns, last_stretch in rows:
        if stretch == last_stretch:
            found[target].append(End(step, stretch, first_ns, last_ns, 0, _NO_GAUGES))
            continue
        ends = read_ends(scope, {target: 0}, from_ns, to_ns, to_ns - from_ns)[target]
        found[target] += [replace(end, step=step) for end in ends if end.step == 0]
    return found


def _joined(ends: Sequence[End]) -> Iterator[End]:
    """As of one step: a stretch that goes on over midnight is one."""
    last: End | None = None
    for end in ends:
        step = min(end.step, 0)
        if last is not None and (last.step, last.stretch) == (step, end.stretch):
            last = replace(last, last=end.last)
            continue
        if last is not None:
            yield last
        last = replace(end, step=step)
    if last is not None:
        yield last

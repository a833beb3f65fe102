"""Samples of engines as the store has them: for a range of time, no more of them than figures need."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection

from ingest.engines.differences import Difference, Sample, difference
from ingest.engines.kept import unfold
from ingest.engines.layout import Layout, layout_from_json
from ingest.engines.store import day_of, longest_gap_ns
from ingest.engines.windows import EMPTY, Window, window
from ingest.scope import Scope

NS = 1_000_000_000
LAYOUTS_KEPT = 2_000
SAMPLES_OF_A_RUN = 10_000  # half a day at 5 s; later calls of a longer run have no state

# Between two samples of a stretch nothing was reset or missed, so its first and last of a step tell all of that step.
ENDS = """
    SELECT target_id, step, stretch, min(at_unix_ns), max(at_unix_ns), count(*),
           avg(running), max(running), avg(waiting), max(waiting), avg(kv_usage), max(kv_usage)
    FROM (
        SELECT *, CASE WHEN at_unix_ns < %(from)s THEN -1 ELSE (at_unix_ns - %(from)s) / %(step)s END AS step
        FROM (
            SELECT target_id, at_unix_ns, stretch, running, waiting, kv_usage FROM ingest_engine_sample
            WHERE {where}
            UNION ALL
            SELECT target_id, at_unix_ns, stretch, running, waiting, kv_usage FROM ingest_engine_minute
            WHERE {where}
        ) AS rows
    ) AS steps
    GROUP BY target_id, step, stretch ORDER BY target_id, min(at_unix_ns)
"""
WHERE = """project_id = %(project)s AND target_id = ANY(%(targets)s) AND day BETWEEN %(first_day)s AND %(last_day)s
           AND at_unix_ns >= %(since)s AND at_unix_ns < %(to)s"""
BODIES = """
    SELECT sample.target_id, sample.at_unix_ns, sample.layout_id, sample.breaks, sample.body
    FROM unnest(%(targets)s::int[], %(ats)s::bigint[]) AS wanted (target_id, at_unix_ns)
    CROSS JOIN LATERAL (
        SELECT s.target_id, s.at_unix_ns, s.layout_id, s.breaks, s.body FROM ingest_engine_sample AS s
        WHERE s.target_id = wanted.target_id AND s.at_unix_ns = wanted.at_unix_ns
          AND s.day BETWEEN %(first_day)s AND %(last_day)s
        UNION ALL
        SELECT m.target_id, m.at_unix_ns, m.layout_id, m.breaks, m.body FROM ingest_engine_minute AS m
        WHERE m.target_id = wanted.target_id AND m.at_unix_ns = wanted.at_unix_ns
          AND m.day BETWEEN %(first_day)s AND %(last_day)s
        LIMIT 1
    ) AS sample
"""


@dataclass(slots=True, kw_only=True)
class Step:
    """What the samples within one step of time tell. ``pages`` are means and maxima of the whole page's gauges."""

    scrapes: int = 0
    differences: list[Difference] = field(default_factory=list)
    last: Sample | None = None
    before: Sample | None = None
    running: tuple[float | None, float | None] = (None, None)
    waiting: tuple[float | None, float | None] = (None, None)
    kv_usage: tuple[float | None, float | None] = (None, None)

    @property
    def window(self) -> Window:
        return window(self.differences) if self.differences else EMPTY


@dataclass(frozen=True, slots=True)
class End:
    """A stretch within a step: where it begins and ends, how many samples, means and maxima of gauges."""

    step: int
    stretch: int
    first: int
    last: int
    scrapes: int
    gauges: tuple[float | None, ...]


def steps(
    scope: Scope,
    targets: dict[int, int],
    from_ns: int,
    to_ns: int,
    step_ns: int,
    metrics: Collection[str] | None = None,
) -> dict[int, dict[int, Step]]:
    """By target and step. ``targets`` are their intervals in milliseconds by id; of a step without samples there is
    none. A difference counts in the step in which it ends."""
    ends = read_ends(scope, targets, from_ns, to_ns, step_ns)
    samples = read_samples([(t, at) for t, found in ends.items() for end in found for at in (end.first, end.last)])
    made: dict[int, dict[int, Step]] = {}
    for target, found in ends.items():
        made[target] = steps_of(target, found, samples, longest_gap_ns(targets[target]), metrics)
    return made


def steps_of(
    target: int, ends: Sequence[End], samples: dict[tuple[int, int], tuple[Sample, str]], gap_ns: int,
    metrics: Collection[str] | None,
) -> dict[int, Step]:  # fmt: skip
    """Of a target's stretches in the order of time, and of the samples at their ends."""
    made: dict[int, Step] = defaultdict(Step)
    had: tuple[Sample, int] | None = None
    for end in ends:
        step = made[end.step]
        for at in dict.fromkeys((end.first, end.last)):
            if (target, at) not in samples:  # thinned out between two questions
                continue
            sample, breaks = samples[target, at]
            if had is not None:
                told = _between(had[0], sample, breaks if had[1] != end.stretch else "", gap_ns, metrics)
                if told is not None:
                    step.differences.append(told)
                step.before = step.before or had[0]
            step.last, had = sample, (sample, end.stretch)
        _add_gauges(step, end)
    made.pop(-1, None)
    return dict(made)


def _between(
    before: Sample, after: Sample, breaks: str, gap_ns: int, metrics: Collection[str] | None
) -> Difference | None:
    if not breaks:
        return difference(before, after, metrics, unbroken=True)
    if breaks not in ("reset", "layout"):
        return None
    told = difference(before, after, metrics)
    return told if told.seconds * NS <= gap_ns else None


def _add_gauges(step: Step, end: End) -> None:
    whole = step.scrapes + end.scrapes
    means, most = end.gauges[::2], end.gauges[1::2]
    for name, mean, top in zip(("running", "waiting", "kv_usage"), means, most, strict=True):
        had_mean, had_top = getattr(step, name)
        if mean is None:
            continue
        joined = mean if had_mean is None else (had_mean * step.scrapes + mean * end.scrapes) / whole
        setattr(step, name, (joined, top if had_top is None else max(had_top, top or 0.0)))
    step.scrapes = whole


def read_ends(scope: Scope, targets: dict[int, int], from_ns: int, to_ns: int, step_ns: int) -> dict[int, list[End]]:
    since = from_ns - max(map(longest_gap_ns, targets.values()), default=0)
    found: dict[int, list[End]] = {target: [] for target in targets}
    with connection.cursor() as cursor:
        cursor.execute(
            ENDS.format(where=WHERE),
            {
                "project": scope.project_id, "targets": list(targets), "from": from_ns, "to": to_ns, "step": step_ns,
                "since": since, "first_day": day_of(since), "last_day": day_of(to_ns),
            },
        )  # fmt: skip
        for target, step, stretch, first, last, scrapes, *gauges in cursor.fetchall():
            found[target].append(End(step, stretch, first, last, scrapes, tuple(gauges)))
    return found


def read_samples(wanted: Sequence[tuple[int, int]]) -> dict[tuple[int, int], tuple[Sample, str]]:
    if not wanted:
        return {}
    wanted = list(dict.fromkeys(wanted))
    days = [day_of(at) for _, at in wanted]
    with connection.cursor() as cursor:
        cursor.execute(
            BODIES,
            {
                "targets": [t for t, _ in wanted], "ats": [at for _, at in wanted],
                "first_day": min(days) - dt.timedelta(days=1), "last_day": max(days) + dt.timedelta(days=1),
            },
        )  # fmt: skip
        rows = cursor.fetchall()
    layouts = read_layouts({row[2] for row in rows})
    return {
        (target, at): (Sample(at_unix_ns=at, layout=layouts[layout], values=unfold(body)), breaks)
        for target, at, layout, breaks, body in rows
    }


_layouts: dict[int, Layout] = {}


def read_layouts(ids: Collection[int]) -> dict[int, Layout]:
    """By id. They never change, so each process reads them once."""
    unknown = [one for one in ids if one not in _layouts]
    if unknown:
        if len(_layouts) > LAYOUTS_KEPT:
            _layouts.clear()
            unknown = list(ids)
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, body FROM ingest_engine_layout WHERE id = ANY(%s)", [unknown])
            _layouts.update({one: layout_from_json(body) for one, body in cursor.fetchall()})
    return {one: _layouts[one] for one in ids}


def samples_around(scope: Scope, target: int, from_ns: int, to_ns: int, gap_ns: int) -> Iterator[Sample]:
    """All samples from the last before a stretch of time to the first after it, in order, within a gap."""
    where = """project_id = %(project)s AND target_id = %(target)s AND day BETWEEN %(first_day)s AND %(last_day)s
               AND at_unix_ns BETWEEN %(since)s AND %(until)s"""
    columns = "at_unix_ns, layout_id, body"
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT {columns} FROM ingest_engine_sample WHERE {where}
                UNION ALL SELECT {columns} FROM ingest_engine_minute WHERE {where} ORDER BY at_unix_ns
                LIMIT {SAMPLES_OF_A_RUN}""",
            {
                "project": scope.project_id, "target": target, "since": from_ns - gap_ns, "until": to_ns + gap_ns,
                "first_day": day_of(from_ns - gap_ns), "last_day": day_of(to_ns + gap_ns),
            },
        )  # fmt: skip
        rows = cursor.fetchall()
    layouts = read_layouts({row[1] for row in rows})
    before = [row for row in rows if row[0] <= from_ns][-1:]
    during = [row for row in rows if from_ns < row[0] <= to_ns]
    after = [row for row in rows if row[0] > to_ns][:1]
    for at, layout, body in (*before, *during, *after):
        yield Sample(at_unix_ns=at, layout=layouts[layout], values=unfold(body))

"""Histograms of runs and calls for an existing Grafana: counted once, when a run settles.

A Prometheus counter cannot be corrected, and a run's figures change while spans still come. So a run is counted
after it has settled, from its stored row. Spans that come later still make it settle, and count, again; a trace
whose decomposition failed first may be missed. Label values beyond a bound are told as ``other``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import connection, transaction

from ingest.packed import OWNERS, SOURCES
from ingest.partitions import today
from ingest.rows import called_model_sql, of_run_sql
from ingest.stages.model import Source, Stage

BOUNDS_NS = tuple(
    int(seconds * 1e9)
    for seconds in (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 900)
)
# In a run with a model call that nobody splits, these are only known in part: it does not count for them.
OF_MODELS = (Stage.PREFILL, Stage.DECODE, Stage.TOOL_PARSING, Stage.RE_ENCODING, Stage.CONTINUE_DECODE)
PAIRS_MOST = 50  # of service and model in a project
OTHER = "other"
LATE_NS = 5 * 10**9  # how long a transaction may take to show its marks or rows
SETTLE_NS = 3 * 10**9  # the least time between receipt and settling; see ``decomposing``
AGO_DAYS = 2  # a run that settles now was first received that recently, but for very long ones
STEP_NS = 3600 * 10**9  # what one look counts at most, after a pause

# Up to where all rows that settle are there: a trace that still waits settles no earlier than SETTLE_NS after it came.
UNTIL = """
    SELECT min(received_unix_ns) FROM ingest_dirty_trace
    WHERE error = '' AND received_unix_ns + %(settle_ns)s > %(from_ns)s
"""
WINDOW = "run.day >= %(day)s AND run.settles_unix_ns > %(from_ns)s AND run.settles_unix_ns <= %(to_ns)s"
MEASURED = f"call.source <> {SOURCES.index(Source.ESTIMATED)}"
BIN = "width_bucket(value - 1, %(bounds)s::bigint[])::smallint"  # a bound belongs to its bin, as in Prometheus
RUNS = f"""
    SELECT run.project_id, measure, coalesce(run.service, ''), coalesce(run.model, ''), {BIN}, count(*), sum(value)
    FROM ingest_run AS run
    CROSS JOIN LATERAL (VALUES ('wall', run.wall_ns), ('ttft', run.ttft_ns),
                        {", ".join(f"('{owner}', run.{owner}_ns)" for owner in OWNERS)}) AS told (measure, value)
    WHERE {WINDOW} AND value IS NOT NULL AND (run.model_unsplit_ns = 0 OR measure <> ALL (%(of_models)s))
        AND (run.basis IS NULL OR measure <> 'ttft')
    GROUP BY 1, 2, 3, 4, 5
"""
CALLS = f"""
    SELECT run.project_id, measure, coalesce(run.service, ''), coalesce({called_model_sql("call", "run")}, ''), {BIN},
           count(*), sum(value)
    FROM ingest_run AS run
    JOIN ingest_call AS call ON call.trace_id = run.trace_id AND {of_run_sql("call", "run")}
        AND call.project_id = run.project_id AND call.day = run.day
    CROSS JOIN LATERAL (VALUES ('call_wall', call.end_unix_ns - call.start_unix_ns), ('call_ttft', call.ttft_ns),
                        ('call_tpot', call.tpot_ns)) AS told (measure, value)
    WHERE {WINDOW} AND value IS NOT NULL AND (measure = 'call_wall' OR {MEASURED}) GROUP BY 1, 2, 3, 4, 5
"""
ADD = """
    INSERT INTO ingest_settled_count AS kept (project_id, measure, service, model, bin, count, sum_ns)
    SELECT * FROM unnest(%s::int[], %s::text[], %s::text[], %s::text[], %s::smallint[], %s::bigint[], %s::numeric[])
    ON CONFLICT (project_id, measure, service, model, bin)
    DO UPDATE SET count = kept.count + excluded.count, sum_ns = kept.sum_ns + excluded.sum_ns
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A histogram: how many values are in each bin of BOUNDS_NS and beyond the last, and their sum."""

    project_id: int
    measure: str
    service: str
    model: str
    counts: tuple[int, ...]
    sum_ns: int


def count_settled(now_ns: int) -> bool:
    """Count the runs that have settled since the last look. False when another process is at it."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ingest_settled_until (id, counted_unix_ns) VALUES (1, %s) ON CONFLICT DO NOTHING", [now_ns]
        )
        cursor.execute("SELECT counted_unix_ns FROM ingest_settled_until WHERE id = 1 FOR UPDATE SKIP LOCKED")
        row = cursor.fetchone()
        if row is None:
            return False
        (from_ns,) = row
        cursor.execute(UNTIL, {"from_ns": from_ns, "settle_ns": SETTLE_NS})
        (oldest_ns,) = cursor.fetchone()
        to_ns = min(now_ns - LATE_NS, from_ns + STEP_NS)
        if oldest_ns is not None:
            to_ns = min(to_ns, oldest_ns + SETTLE_NS - 1)
        if to_ns <= from_ns:
            return True
        window = {
            "from_ns": from_ns, "to_ns": to_ns, "bounds": list(BOUNDS_NS), "day": _days_before(from_ns),
            "of_models": list(OF_MODELS),
        }  # fmt: skip
        found: list[tuple[int, str, str, str, int, int, int]] = []
        for query in (RUNS, CALLS):
            cursor.execute(query, window)
            found += cursor.fetchall()
        _add(cursor, found)
        cursor.execute("UPDATE ingest_settled_until SET counted_unix_ns = %s WHERE id = 1", [to_ns])
    return True


def _days_before(from_ns: int) -> object:
    return today(from_ns - AGO_DAYS * 86_400 * 10**9)


def _add(cursor: object, found: list[tuple[int, str, str, str, int, int, int]]) -> None:
    if not found:
        return
    cursor.execute("SELECT DISTINCT project_id, service, model FROM ingest_settled_count")  # type: ignore[attr-defined]
    known: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for project_id, service, model in cursor.fetchall():  # type: ignore[attr-defined]
        known[project_id].add((service, model))
    counts: Counter[tuple[int, str, str, str, int]] = Counter()
    sums: Counter[tuple[int, str, str, str, int]] = Counter()
    for project_id, measure, service, model, number, count, sum_ns in sorted(found):
        pair = (service[:200], model[:200])
        if pair not in known[project_id] and len(known[project_id]) >= PAIRS_MOST:
            pair = (OTHER, OTHER)
        known[project_id].add(pair)
        place = (project_id, measure, *pair, number)
        counts[place] += count
        sums[place] += int(sum_ns)
    places = sorted(counts)
    cursor.execute(  # type: ignore[attr-defined]
        ADD, [*map(list, zip(*places, strict=True)), [counts[p] for p in places], [sums[p] for p in places]]
    )


def read_settled(project_ids: list[int]) -> Iterator[Settled]:
    """The histograms of these projects."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT project_id, measure, service, model, array_agg(bin ORDER BY bin), array_agg(count ORDER BY bin),
                      sum(sum_ns)
               FROM ingest_settled_count WHERE project_id = ANY(%s) GROUP BY 1, 2, 3, 4 ORDER BY 2, 1, 3, 4""",
            [project_ids],
        )
        rows = cursor.fetchall()
    for project_id, measure, service, model, bins, numbers, sum_ns in rows:
        by_bin = dict(zip(bins, numbers, strict=True))
        counts = tuple(by_bin.get(number, 0) for number in range(len(BOUNDS_NS) + 1))
        yield Settled(
            project_id=project_id, measure=measure, service=service, model=model, counts=counts, sum_ns=int(sum_ns)
        )

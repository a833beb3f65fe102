"""What is happening now: key figures, where the seconds go, runs as they finish, runs in flight."""

from __future__ import annotations

from ingest.packed import OWNERS
from ingest.read.figuring import Sums
from ingest.read.half_minutes import STEP_S, sums_of_half_minutes
from ingest.read.rows import RUN_LIST_COLUMNS, as_run, select
from ingest.read.runs import RunFilter, conditions, find_runs
from ingest.read.summary import Question, sums_by_step
from ingest.read.values import LiveFigures, Quantiles, RunRow, StageStep
from ingest.rollups.bins import quantiles
from ingest.rollups.counting import Flag, Kind
from ingest.rollups.steps import MINUTE_NS
from ingest.scope import Scope


def figures(scope: Scope, from_unix_ns: int, to_unix_ns: int, now_ns: int) -> LiveFigures:
    """Key figures over the runs, calls and tools that ended in a range."""
    window = RunFilter(from_unix_ns=from_unix_ns, to_unix_ns=to_unix_ns)
    [(_, _, sums)] = sums_by_step(scope, Question(wanted=window, zone="UTC"), now_ns).steps
    return LiveFigures(
        window_s=(min(to_unix_ns, now_ns) - from_unix_ns) // 10**9,
        runs=sums.runs,
        failed_runs=sums.counted(Kind.RUN, with_=Flag.FAILED),
        wall=_quantiles(sums, Kind.RUN, "wall"),
        ttft=_quantiles(sums, Kind.CALL, "ttft"),
        tpot=_quantiles(sums, Kind.CALL, "tpot"),
        queue=_quantiles(sums, Kind.CALL, "queue"),
        tool_calls=sums.counted(Kind.TOOL),
        tool_failures=sums.counted(Kind.TOOL, with_=Flag.ERRED),
        input_tokens=sums.sum(Kind.RUN, "cacheable_tokens"),
        cached_tokens=sums.sum(Kind.RUN, "cached_tokens") if sums.known(Kind.RUN, "cached_tokens") else None,
    )


def last_minutes(now_ns: int, minutes: int = 5) -> tuple[int, int]:
    """So many whole minutes and the running one, to its end: rollups tell of these, whatever comes. A range that ended
    now would be counted from the rows of its first and last minute, which under load is most of what Live costs."""
    running_ns = now_ns // MINUTE_NS * MINUTE_NS
    return running_ns - minutes * MINUTE_NS, running_ns + MINUTE_NS


def count_in_flight(scope: Scope, now_ns: int) -> tuple[int, int | None]:
    """How many runs are in flight, and for how many nanoseconds the first of them has been."""
    where, parameters = conditions(scope, RunFilter(status="open"), now_ns)
    [found] = select(f"SELECT count(*) AS n, min(start_unix_ns) AS first FROM ingest_run WHERE {where}", parameters)
    return found["n"], None if found["first"] is None else now_ns - found["first"]


def has_runs(scope: Scope) -> bool:
    where, parameters = scope.where()
    return bool(select(f"SELECT 1 AS one FROM ingest_run WHERE {where} LIMIT 1", parameters))


def _quantiles(sums: Sums, kind: Kind, metric: str) -> Quantiles:
    return _quantiles_of(sums.bins(kind, metric)[0])


def _quantiles_of(bins: dict[int, int]) -> Quantiles:
    p50, p95, p99 = quantiles(bins, (0.5, 0.95, 0.99))
    return Quantiles(count=sum(bins.values()), p50_ns=p50, p95_ns=p95, p99_ns=p99)


def stage_steps(scope: Scope, from_unix_ns: int, to_unix_ns: int, step_s: int) -> tuple[int, list[StageStep]]:
    """What ended in each step; steps begin on multiples of their length. Whole minutes are counted, as by
    ``last_minutes``, though only steps that have begun are told. First the seconds of a step: they are as asked for,
    but a minute instead of a half where so many runs end that halves cannot be counted every few seconds."""
    step_ns, to_ns = max(60, step_s) * 10**9, -(-to_unix_ns // MINUTE_NS) * MINUTE_NS
    from_ns = from_unix_ns // step_ns * step_ns
    if step_s == STEP_S:
        step_s, steps = sums_of_half_minutes(scope, from_ns, to_ns, to_unix_ns)
    else:
        asked = Question(wanted=RunFilter(from_unix_ns=from_ns, to_unix_ns=to_ns), step=str(step_s), zone="UTC")
        steps = [(start_ns, sums) for start_ns, _, sums in sums_by_step(scope, asked, to_unix_ns).steps]
    return step_s, [_step(start_ns, sums) for start_ns, sums in steps if start_ns < to_unix_ns]


def _step(start_unix_ns: int, sums: Sums) -> StageStep:
    runs, tools, of = sums.runs, sums.counted(Kind.TOOL), sums.sum(Kind.RUN, "cacheable_tokens")
    told = of > 0 and sums.known(Kind.RUN, "cached_tokens") > 0
    wall_bins, _ = sums.bins(Kind.RUN, "wall")
    return StageStep(
        start_unix_ns=start_unix_ns,
        runs=runs,
        failed_runs=sums.counted(Kind.RUN, with_=Flag.FAILED),
        mean_ns={owner.value: sums.sum(Kind.RUN, owner) // runs for owner in OWNERS} if runs else None,
        mean_wall_ns=sums.sum(Kind.RUN, "wall") // runs if runs else None,
        wall_bins=wall_bins,
        wall=_quantiles_of(wall_bins),
        ttft=_quantiles(sums, Kind.CALL, "ttft"),
        tpot=_quantiles(sums, Kind.CALL, "tpot"),
        queue=_quantiles(sums, Kind.CALL, "queue"),
        hit_rate=sums.sum(Kind.RUN, "cached_tokens") / of if told else None,
        tool_failures=sums.counted(Kind.TOOL, with_=Flag.ERRED) / tools if tools else None,
    )


def finishing(scope: Scope, limit: int, now_ns: int, before_unix_ns: int | None = None) -> list[RunRow]:
    """The runs that ended last (before an instant), newest first; those in flight are elsewhere."""
    where, parameters = conditions(scope, RunFilter(to_unix_ns=before_unix_ns), now_ns)
    rows = select(
        f"""SELECT {", ".join(RUN_LIST_COLUMNS)} FROM ingest_run
            WHERE {where} AND (root_ended OR settles_unix_ns <= %s) ORDER BY end_unix_ns DESC LIMIT %s""",
        [*parameters, now_ns, limit],
    )
    return [as_run(row, now_ns) for row in rows]


def in_flight(scope: Scope, limit: int, now_ns: int) -> list[RunRow]:
    """Runs whose root has not ended and whose spans still come, the longest first."""
    runs = find_runs(scope, RunFilter(status="open", limit=limit), now_ns).runs
    return sorted(runs, key=lambda run: run.start_unix_ns)

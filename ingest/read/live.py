"""What is happening now: key figures, where the seconds go, runs as they finish, runs in flight."""

from __future__ import annotations

from ingest.packed import OWNERS
from ingest.read.figuring import Sums, figures_of
from ingest.read.rows import RUN_LIST_COLUMNS, as_run, select
from ingest.read.runs import RunFilter, conditions, find_runs
from ingest.read.summary import Question, summarise, sums_by_step
from ingest.read.values import Distribution, LiveFigures, Quantiles, RunRow, StageStep
from ingest.rollups.counting import Flag, Kind
from ingest.scope import Scope


def figures(scope: Scope, now_ns: int, window_s: int = 300) -> LiveFigures:
    """Key figures over the runs, calls and tools that ended in the last ``window_s`` seconds."""
    window = RunFilter(from_unix_ns=now_ns - window_s * 10**9, to_unix_ns=now_ns + 1)
    found = summarise(scope, Question(wanted=window, zone="UTC"), now_ns).total
    assert found
    assert found.runs
    assert found.calls
    assert found.tools
    flying, flying_parameters = conditions(scope, RunFilter(status="open"), now_ns)
    newest, newest_parameters = scope.where()
    return LiveFigures(
        window_s=window_s,
        runs=found.runs.count,
        failed_runs=found.runs.failed,
        wall=_quantiles(found.runs.wall),
        ttft=_quantiles(found.calls.ttft),
        tpot=_quantiles(found.calls.tpot),
        queue=_quantiles(found.calls.queue),
        tool_calls=found.tools.count,
        tool_failures=found.tools.failed,
        input_tokens=found.runs.cacheable_tokens,
        cached_tokens=found.runs.cached_tokens,
        in_flight=select(f"SELECT count(*) AS n FROM ingest_run WHERE {flying}", flying_parameters)[0]["n"],
        newest_end_unix_ns=select(
            f"SELECT max(end_unix_ns) AS newest FROM ingest_run WHERE {newest}", newest_parameters
        )[0]["newest"],
    )


def _quantiles(spread: Distribution) -> Quantiles:
    return Quantiles(count=spread.count, p50_ns=spread.p50_ns, p95_ns=spread.p95_ns, p99_ns=spread.p99_ns)


def stage_steps(scope: Scope, from_unix_ns: int, to_unix_ns: int, step_s: int) -> list[StageStep]:
    """What ended in each step; steps begin on multiples of their length."""
    step_ns = step_s * 10**9
    window = RunFilter(from_unix_ns=from_unix_ns // step_ns * step_ns, to_unix_ns=to_unix_ns)
    asked = Question(wanted=window, step=str(step_s), zone="UTC")
    return [_step(start_ns, sums) for start_ns, _, sums in sums_by_step(scope, asked, to_unix_ns).steps]


def _step(start_unix_ns: int, sums: Sums) -> StageStep:
    runs = sums.runs
    counted = figures_of(sums, tuple(Kind))
    assert counted.runs
    assert counted.calls
    assert counted.tools
    return StageStep(
        start_unix_ns=start_unix_ns,
        runs=runs,
        failed_runs=sums.counted(Kind.RUN, with_=Flag.FAILED),
        mean_ns={owner.value: sums.sum(Kind.RUN, owner) // runs for owner in OWNERS} if runs else None,
        mean_wall_ns=sums.sum(Kind.RUN, "wall") // runs if runs else None,
        wall_bins=sums.bins(Kind.RUN, "wall")[0],
        wall=_quantiles(counted.runs.wall),
        ttft=_quantiles(counted.calls.ttft),
        tpot=_quantiles(counted.calls.tpot),
        queue=_quantiles(counted.calls.queue),
        hit_rate=counted.runs.cache_hit_rate,
        tool_failures=counted.tools.failed / counted.tools.count if counted.tools.count else None,
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

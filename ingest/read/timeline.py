"""How many runs of a filter ended when, and where their seconds went: a range cut into steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ingest.packed import OWNERS
from ingest.read.rows import select
from ingest.read.runs import BadFilter, RunFilter
from ingest.read.summary import Question, sums_by_step
from ingest.rollups.counting import Flag, Kind
from ingest.rollups.steps import SECOND_NS
from ingest.scope import Scope

StepFor = Callable[[int], int]
KEPT_S = (60, 900, 3600, 86_400)  # of what is kept longer and longer


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineStep:
    """``totals_ns`` sums each stage and outside time over the runs that ended in the step."""

    from_unix_ns: int
    to_unix_ns: int
    runs: int
    failed: int
    totals_ns: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """``looked_from_unix_ns`` is set where the time was up first: runs that ended earlier are not counted."""

    steps: list[TimelineStep]
    runs: int
    looked_from_unix_ns: int | None


def read_timeline(scope: Scope, wanted: RunFilter, step_for: StepFor, now_ns: int, budget_s: float) -> Timeline:
    """From the range's begin, or the first run's end, on. ``step_for`` gives the seconds of a step for the seconds of a
    range; where such short steps are kept no more they are longer. Steps begin on multiples of their length, from
    midnight of the project's zone on. Raises BadFilter."""
    to_ns = now_ns + 1 if wanted.to_unix_ns is None else wanted.to_unix_ns
    first_ns = _first_end(scope)
    from_ns = max(first_ns if first_ns is not None else to_ns - 1, wanted.from_unix_ns or 0)
    if from_ns >= to_ns:
        return Timeline(steps=[], runs=0, looked_from_unix_ns=None)
    ends = replace(wanted, from_unix_ns=from_ns, to_unix_ns=to_ns)
    step_s = step_for((to_ns - from_ns) // SECOND_NS)
    for longer_s in sorted({step_s, *(kept_s for kept_s in KEPT_S if kept_s > step_s)}):
        asked = Question(wanted=ends, step=_named(longer_s), kinds=(Kind.RUN,), budget_s=budget_s)
        try:
            counted = sums_by_step(scope, asked, now_ns)
        except BadFilter:
            if longer_s == KEPT_S[-1]:
                raise
            continue
        break
    steps = [
        TimelineStep(
            from_unix_ns=first, to_unix_ns=last, runs=sums.runs, failed=sums.counted(Kind.RUN, with_=Flag.FAILED),
            totals_ns={owner.value: sums.sum(Kind.RUN, owner) for owner in OWNERS},
        )
        for first, last, sums in counted.steps
    ]  # fmt: skip
    return Timeline(steps=steps, runs=sum(step.runs for step in steps), looked_from_unix_ns=counted.looked_from_ns)


def _named(step_s: int) -> str:
    return "day" if step_s == KEPT_S[-1] else str(step_s)


def _first_end(scope: Scope) -> int | None:
    where, parameters = scope.where()
    [row] = select(f"SELECT min(end_unix_ns) AS first FROM ingest_run WHERE {where}", parameters)
    return None if row["first"] is None else int(row["first"])


def count_runs(scope: Scope, wanted: RunFilter, now_ns: int) -> int:
    """Of a range, from rollups where these tell enough."""
    ends = replace(wanted, to_unix_ns=now_ns + 1 if wanted.to_unix_ns is None else wanted.to_unix_ns)
    counted = sums_by_step(scope, Question(wanted=ends, zone="UTC", kinds=(Kind.RUN,)), now_ns)
    return sum(sums.runs for _, _, sums in counted.steps)

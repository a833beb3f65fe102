"""How many runs of a filter ended when, and where their seconds went: a range cut into steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingest.packed import OWNERS
from ingest.read.runs import RunFilter
from ingest.read.summary import Question, sums_by_step
from ingest.rollups.counting import Flag, Kind
from ingest.scope import Scope


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


def read_timeline(scope: Scope, wanted: RunFilter, step_s: int, now_ns: int, budget_s: float) -> Timeline:
    """Steps begin on multiples of their length in UTC, or of the day. Raises BadFilter."""
    ends = replace(wanted, to_unix_ns=now_ns + 1 if wanted.to_unix_ns is None else wanted.to_unix_ns)
    asked = Question(wanted=ends, step=str(step_s), zone="UTC", kinds=(Kind.RUN,), budget_s=budget_s)
    counted = sums_by_step(scope, asked, now_ns)
    steps = [
        TimelineStep(
            from_unix_ns=first, to_unix_ns=last, runs=sums.runs, failed=sums.counted(Kind.RUN, with_=Flag.FAILED),
            totals_ns={owner.value: sums.sum(Kind.RUN, owner) for owner in OWNERS},
        )
        for first, last, sums in counted.steps
    ]  # fmt: skip
    return Timeline(
        steps=steps, runs=sum(step.runs for step in steps), looked_from_unix_ns=counted.looked_from_ns
    )  # fmt: skip


def count_runs(scope: Scope, wanted: RunFilter, now_ns: int) -> int:
    """Of a range, from rollups where these tell enough."""
    ends = replace(wanted, to_unix_ns=now_ns + 1 if wanted.to_unix_ns is None else wanted.to_unix_ns)
    counted = sums_by_step(scope, Question(wanted=ends, zone="UTC", kinds=(Kind.RUN,)), now_ns)
    return sum(sums.runs for _, _, sums in counted.steps)

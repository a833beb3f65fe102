"""A week's report from what the store told: comparisons, the split, causes, and then the words. Pure."""

from __future__ import annotations

import datetime as dt
import math
import statistics
from collections.abc import Iterator, Sequence

from dashboard.reports.core.breaks import Day, find_break
from dashboard.reports.core.causes import explain, shifts
from dashboard.reports.core.engines import EngineRow
from dashboard.reports.core.facts import OWNER_NAMES, SHARES, Binned, Facts, Weeks
from dashboard.reports.core.noise import FEW, mean_error
from dashboard.reports.core.parts import Amount, Split, split_change
from dashboard.reports.core.parts import Cause as Where
from dashboard.reports.core.reasons import short_reason
from dashboard.reports.core.told import ALL, Told
from dashboard.reports.core.values import (
    BandRow,
    CostRow,
    DayRow,
    Measure,
    Mover,
    Movers,
    Quality,
    QuantileRow,
    Rate,
    Report,
    Sentence,
    State,
)
from dashboard.reports.core.words import Mover as Moved
from dashboard.reports.core.words import Speaker
from ingest.read.figuring import Sums
from ingest.rollups.bins import quantiles
from ingest.rollups.counting import Flag, Kind

MEASURES = (
    ("wall", "Wall time", Kind.RUN, "wall", "runs/wall"),
    ("ttft", "Time to first token", Kind.RUN, "ttft", "runs/ttft"),
    ("tpot", "Time per output token", Kind.CALL, "tpot", "calls/tpot"),
    ("tool", "Tool execution", Kind.TOOL, "wall", "tools/wall"),
)
DIMENSIONS = (
    ("service", Kind.RUN), ("agent", Kind.RUN), ("model", Kind.CALL), ("tool", Kind.TOOL), ("engine", Kind.CALL)
)  # fmt: skip
MOST_ROWS, MOST_SENTENCES, MOST_ENGINES = 8, 6, 2


def compose(told: Told) -> Report:
    week, zone = told.week, told.zone
    last = week.shifted(-1)
    (before_ns, _), (from_ns, to_ns) = last.range_ns(zone), week.range_ns(zone)
    speaker = Speaker(week, last.range_ns(zone), (from_ns, to_ns))
    facts = told.weeks.facts(ALL)
    split = split_change(_units(told.weeks.before), _units(told.weeks.after), OWNER_NAMES)
    moved = _moved(told, split)
    state = _state(facts, moved, told)
    break_at = _break(told, moved[0]) if state is State.CHANGED and moved else None
    slowest = max((m for m in moved if m.slower), key=lambda m: m.ns, default=None)
    said = _say(told, speaker, state, facts, split, moved, break_at)
    return Report(
        project=told.project, project_name=told.project_name, week=str(week), zone=zone.key, from_unix_ns=from_ns,
        to_unix_ns=to_ns, before_from_unix_ns=before_ns, state=state, whole=told.now_ns >= to_ns,
        headline=said[0], sentences=said[1:], act=_act(speaker, state, facts, slowest),
        act_ns=slowest.ns if slowest and state is State.CHANGED else None,
        runs_before=facts.before.runs, runs_after=facts.after.runs, measures=[_measure(told, *m) for m in MEASURES],
        split=split, days=list(_days(told)), break_day=None if break_at is None else week.days[break_at].isoformat(),
        lead=moved[0].service if moved else None,
        movers=[_movers(told, dimension, kind, split, moved) for dimension, kind in DIMENSIONS],
        rates=_rates(facts), completion=_completion(facts), cost=_cost(told, facts), quality=_quality(facts.after),
        worth=[], deploys=told.deploys, engines=told.engines,
    )  # fmt: skip


def _state(facts: Facts, moved: Sequence[Moved], told: Told) -> State:
    if not facts.after.runs:
        return State.EMPTY
    if not facts.before.runs:
        return State.FIRST
    if min(facts.before.runs, facts.after.runs) < FEW:
        return State.FEW
    changed = facts.moved or moved or facts.failures.claimed
    beside = any(_tools(told)) or any(_caches(told)) or _engines(told)
    return State.CHANGED if changed or beside else State.QUIET


def _units(week: Binned) -> dict[tuple[str | None, tuple[str, ...]], Amount]:
    return {
        (place[1], place[2]): Amount(
            runs=sums.runs, totals_ns={owner: sums.sum(Kind.RUN, owner) for owner in OWNER_NAMES}
        )
        for place, sums in week.items()
        if isinstance(place, tuple) and place[0] == "unit"
    }


def _moved(told: Told, split: Split | None) -> list[Moved]:
    """Services that changed beyond the noise; the one that weighs most in the mean of all runs first, slower before
    faster ones."""
    if split is None:
        return []
    found = []
    for service in told.weeks.names("service"):
        facts = told.weeks.facts(("service", service))
        direction = facts.moved or (0 if facts.stage is None else 1 if facts.stage[1].rose else -1)
        if direction:
            only = None if facts.moved or facts.stage is None else facts.stage[0]
            cause = explain(service, told.weeks, split, direction, only)
            ns = sum(split.ns(cause=where, service=service, owner=only) for where in (Where.MODELS, Where.WITHIN))
            found.append(Moved(service=service, facts=facts, cause=cause, ns=ns, direction=direction))
    all_moved = told.weeks.facts(ALL).moved
    return sorted(found, key=lambda m: (m.direction != (all_moved or 1), -abs(m.ns)))


def _break(told: Told, mover: Moved) -> int | None:
    """On which day the service that moved most left its course in the stage that made it, if one can be named: not the
    first."""
    course = []
    for before, after in zip(told.days[:7], told.days[7:], strict=True):
        both = Weeks(before, after).facts(("service", mover.service)).bins(Kind.RUN, mover.cause.stage)
        means = [total / bins.count if bins.count else None for bins, total in both]
        error = math.hypot(*(mean_error(bins) for bins, _ in both))
        course.append(Day(before=means[0], after=means[1], error=error))
    return find_break(course) or None


def _say(
    told: Told, speaker: Speaker, state: State, facts: Facts, split: Split | None, moved: Sequence[Moved],
    break_at: int | None,
) -> list[Sentence]:  # fmt: skip
    """The headline, and what stands below it."""
    simple = {
        State.EMPTY: lambda: [speaker.empty()],
        State.FIRST: lambda: [speaker.first(facts)],
        State.FEW: lambda: [speaker.few(facts)],
        State.QUIET: lambda: [speaker.quiet(facts), speaker.nothing_moved(engines=told.has_engines)],
    }
    if state in simple:
        return simple[state]()
    assert split is not None
    shift = shifts(told.weeks, split) if facts.moved else []
    below: list[Sentence] = []
    if break_at is not None:
        below.append(speaker.since(break_at, moved[0].service, told.deploys))
    if shift:
        below.append(speaker.mix(split, shift, list(moved)))
    below += [speaker.also(other) for other in moved[1:3]]
    below += _beside(told, speaker, facts, moved)
    if facts.p95.claimed and not facts.p50.claimed:
        below.append(speaker.same_for_most())
    head = speaker.headline(facts, moved[0] if moved else None, shift) if facts.moved or moved else below.pop(0)
    return [head, *below[:MOST_SENTENCES]]


def _beside(told: Told, speaker: Speaker, facts: Facts, moved: Sequence[Moved]) -> list[Sentence]:
    """What changed beside times: failures, tools, caches that no cause has named yet."""
    said = [speaker.failures(facts)] if facts.failures.claimed else []
    said += [speaker.tool_success(tool, tool_facts.tool_success) for tool, tool_facts in _tools(told)]
    named = {m.service for m in moved if m.cause.why == "cache"}
    said += [speaker.cache(s, hits.cache_hits) for s, hits in _caches(told) if s not in named]
    return said + [speaker.engine(row) for row in _engines(told)]


def _tools(told: Told) -> Iterator[tuple[str | None, Facts]]:
    for tool in told.weeks.names("tool"):
        facts = told.weeks.facts(("tool", tool))
        if facts.tool_success.claimed:
            yield tool, facts


def _caches(told: Told) -> Iterator[tuple[str, Facts]]:
    for service in told.weeks.names("service"):
        facts = told.weeks.facts(("service", service))
        if service is not None and facts.cache_hits.claimed:
            yield service, facts


def _engines(told: Told) -> list[EngineRow]:
    return told.engines.changed[:MOST_ENGINES] if told.engines else []


def _act(speaker: Speaker, state: State, facts: Facts, slowest: Moved | None) -> Sentence | None:
    if state is not State.CHANGED:
        return None
    if slowest:
        return speaker.act_on(slowest)
    return speaker.look_at_failures() if facts.failures.rose else speaker.no_need()


def _measure(told: Told, name: str, label: str, kind: Kind, metric: str, path: str) -> Measure:
    facts = told.weeks.facts(ALL)
    former = [week.get(ALL, Sums()).bins(kind, metric)[0] for week in (*told.history, told.weeks.before)]
    by_week = [quantiles(bins, tuple(SHARES.values())) for bins in former]
    rows = []
    for at, share in enumerate(SHARES):
        known = [week[at] for week in by_week if week[at] is not None]
        median = round(statistics.median(value for value in known if value is not None)) if known else None
        rows.append(QuantileRow(
            share=share, change=facts.quantile(kind, metric, share), four_week_median_ns=median, weeks=len(known)
        ))  # fmt: skip
    return Measure(name=name, label=label, path=path, rows=rows)


def _days(told: Told) -> Iterator[DayRow]:
    for date, before, after in zip(told.week.days, told.days[:7], told.days[7:], strict=True):
        was, now = (day.get(ALL, Sums()) for day in (before, after))
        yield DayRow(
            date=dt.date.isoformat(date), before_runs=was.runs, after_runs=now.runs,
            before_p95_ns=quantiles(was.bins(Kind.RUN, "wall")[0], (0.95,))[0],
            after_p95_ns=quantiles(now.bins(Kind.RUN, "wall")[0], (0.95,))[0],
        )  # fmt: skip


def _movers(told: Told, dimension: str, kind: Kind, split: Split | None, moved: Sequence[Moved]) -> Movers:
    """What weighs most first: the change of the mean times how often it happened."""
    reasons = {m.service: m.cause for m in moved}
    rows = []
    for name in told.weeks.names(dimension):
        facts = told.weeks.facts((dimension, name))
        counts = facts.counts(kind)
        if not any(counts) or (name is None and dimension in ("engine", "agent")):
            continue
        of_service = dimension == "service"
        rows.append(Mover(
            name=name, before_count=counts[0], after_count=counts[1], p50=facts.quantile(kind, "wall", "p50"),
            p95=facts.quantile(kind, "wall", "p95"), mean=facts.mean(kind, "wall"),
            reason=short_reason(reasons.get(name), facts) if of_service and split else "",
            part_ns=split.ns(service=name) if of_service and split else None,
            totals_ns={owner: facts.after.sum(Kind.RUN, owner) for owner in OWNER_NAMES} if of_service else {},
        ))  # fmt: skip
    rows.sort(
        key=lambda row: (
            not (row.slower or row.faster),
            -abs((row.mean.difference or 0) * row.after_count),
            row.name or "",
        )
    )
    return Movers(
        dimension=dimension, of={Kind.RUN: "runs", Kind.CALL: "model calls", Kind.TOOL: "calls"}[kind],
        rows=rows[:MOST_ROWS], left_off=max(0, len(rows) - MOST_ROWS),
    )  # fmt: skip


def _rates(facts: Facts) -> list[Rate]:
    return [
        Rate(name="cache_hit_rate", label="Cache hit rate", of_what="model calls that tell of cached tokens",
             path="calls/cache_hit_rate", change=facts.cache_hits, more_is_better=True),
        Rate(name="tool_success", label="Tool success", of_what="tool calls whose end is known",
             path="tools/success_rate", change=facts.tool_success, more_is_better=True),
        Rate(name="failures", label="Failed runs", of_what="runs", path="runs/error_rate", change=facts.failures,
             more_is_better=False),
    ]  # fmt: skip


def _completion(facts: Facts) -> list[BandRow]:
    return [
        BandRow(
            from_ns=was.from_ns, to_ns=was.to_ns, before_runs=was.runs, before_completed=was.completed,
            after_runs=now.runs, after_completed=now.completed,
        )
        for was, now in zip(facts.before.completion(), facts.after.completion(), strict=True)
    ]  # fmt: skip


def _cost(told: Told, facts: Facts) -> CostRow | None:
    if told.currency is None:
        return None
    was, now = facts.before.cost, facts.after.cost
    return CostRow(
        currency=told.currency, before=was.amount, after=now.amount, before_unknown_calls=was.unknown,
        after_unknown_calls=now.unknown,
    )  # fmt: skip


def _quality(week: Sums) -> Quality:
    calls, estimated = week.counted(Kind.CALL), week.counted(Kind.CALL, with_=Flag.ESTIMATED)
    measured = sum(week.bins(Kind.CALL, "ttft")[0].values())
    return Quality(
        calls=calls, measured=measured, estimated=estimated, unknown=calls - measured - estimated, runs=week.runs,
        unsplit_runs=week.counted(Kind.RUN, with_=Flag.UNSPLIT),
    )  # fmt: skip

"""What a week's report is made of, from the store: bins and sums under every dimension, for two weeks and those
before."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from zoneinfo import ZoneInfo

from dashboard.reports.core.facts import Weeks
from dashboard.reports.core.told import ALL, Told
from dashboard.reports.core.values import DeployRow, Report, WorthRun
from dashboard.reports.core.weeks import Week, date_of
from ingest.models import Project
from ingest.prices import read_pricing
from ingest.read.binned import Binned, BinnedQuestion, read_binned
from ingest.read.deploys import read_deploys
from ingest.read.runs import RunFilter, find_runs
from ingest.rollups.counting import Key, Kind
from ingest.scope import Scope

HISTORY = 4  # weeks before, the last one among them
WORTH, WORTH_BUDGET_S, WORTH_HOURS, AMONG = 3, 0.1, 7, "among the slowest"
_BEYOND = "keys beyond a day's bound"


def read_told(project: Project, week: Week, now_ns: int) -> Told:
    """Raises BadFilter where the week's days are kept no more: only so in another zone than the project's."""
    zone, scope = ZoneInfo(project.zone), Scope(project_id=project.pk)
    last = week.shifted(-1)
    bounds = [last.range_ns(zone)[0], *week.range_ns(zone)]
    starts = [week.shifted(-n).range_ns(zone)[0] for n in range(HISTORY, 0, -1)]
    day_bounds = [*last.day_bounds_ns(zone)[:-1], *week.day_bounds_ns(zone)]
    (before, after), history, days = read_binned(scope, [
        BinnedQuestion(bounds=bounds, places_of=_places), BinnedQuestion(bounds=starts, places_of=_all, plain=True),
        BinnedQuestion(bounds=day_bounds, places_of=_by_day, kinds=(Kind.RUN,), plain=True),
    ], now_ns)  # fmt: skip
    return Told(
        project=project.slug, project_name=project.name, week=week, zone=zone, now_ns=now_ns,
        weeks=Weeks(before, after), history=history, days=days, currency=read_pricing(scope).currency,
        deploys=_deploys(scope, week, zone),
    )  # fmt: skip


def _deploys(scope: Scope, week: Week, zone: ZoneInfo) -> list[DeployRow]:
    return [
        DeployRow(
            service=one.service, version=one.version, at_unix_ns=one.at_unix_ns, source=one.source,
            date=date_of(one.at_unix_ns, zone).isoformat(),
        )
        for one in read_deploys(scope, *week.range_ns(zone))
    ]  # fmt: skip


def read_totals(project: Project, weeks: Sequence[Week], now_ns: int) -> list[Binned]:
    """Of weeks that follow each other, all runs of each."""
    zone = ZoneInfo(project.zone)
    bounds = [week.range_ns(zone)[0] for week in weeks] + [weeks[-1].range_ns(zone)[1]]
    asked = BinnedQuestion(bounds=bounds, places_of=_all, kinds=(Kind.RUN,), plain=True)
    return read_binned(Scope(project_id=project.pk), [asked], now_ns)[0]


def read_worth(project: Project, report: Report, now_ns: int) -> list[WorthRun]:
    """Three runs worth opening, of the service that moved most: its slowest, one at its p95, one that failed. Where the
    runs themselves have gone there are none."""
    scope = Scope(project_id=project.pk)
    service = report.lead
    of_all_ns = report.measures[0].rows[1].change.after
    p95_ns = next((row.p95.after for row in report.movers[0].rows if service and row.name == service), of_all_ns)
    within = RunFilter(from_unix_ns=report.from_unix_ns, to_unix_ns=report.to_unix_ns, service=service, limit=3)
    slowest = find_runs(scope, replace(within, sort="slowest"), now_ns, WORTH_BUDGET_S, WORTH_HOURS)
    slow = find_runs(scope, replace(within, min_wall_ns=round(p95_ns or 0)), now_ns, WORTH_BUDGET_S)
    failed = find_runs(scope, replace(within, status="error"), now_ns, WORTH_BUDGET_S)
    first = "the slowest" if slowest.looked_from_unix_ns is None else AMONG  # not all were looked at
    found: dict[str, WorthRun] = {}
    for why, page, most in (
        (first, slowest, 1), ("slower than nineteen in twenty", slow, 1), ("failed", failed, 1), (AMONG, slowest, WORTH)
    ):  # fmt: skip
        new = [run for run in page.runs if run.run_id not in found]
        for run in new[: min(most, WORTH - len(found))]:
            found[run.run_id] = WorthRun(
                run_id=run.run_id, service=run.service, name=run.name, why=why, wall_ns=run.wall_ns,
                totals_ns={**run.stages_ns, **run.outside_ns},
            )  # fmt: skip
    return list(found.values())


def _all(_kind: Kind, _key: Key) -> Iterable[Hashable]:
    return (ALL,)


def _by_day(_kind: Kind, key: Key) -> Iterable[Hashable]:
    return (ALL,) if key.is_other else (ALL, ("service", key.service))


def _places(kind: Kind, key: Key) -> Iterator[Hashable]:
    yield ALL
    if key.is_other:
        if kind is Kind.RUN:
            yield "unit", _BEYOND, ()
        return
    yield "service", key.service
    if kind is Kind.RUN:
        yield "agent", key.agent
        yield "unit", key.service, key.models
    elif kind is Kind.CALL:
        yield "model", key.own
        yield "engine", key.engine
    else:
        yield "tool", key.own
        yield "service tool", key.service, key.own

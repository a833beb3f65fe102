"""Every figure of a report as text, once. Parts that add up are rounded together. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from dashboard import figures
from dashboard.figures import NOT_KNOWN, THIN, Figure
from dashboard.reports.core.noise import FEW
from dashboard.reports.core.values import DeployRow, Mover, Movers, Report, Sentence
from dashboard.reports.core.weeks import read_week, span_of_days
from dashboard.reports.core.writing import DAY_NAMES
from dashboard.reports.forms.changes import Delta, delta, interval, time
from dashboard.reports.forms.engines import EnginesTable, write_engines
from dashboard.reports.forms.shift import Shift, write_shift

SOURCES = {"told": "as it was told", "seen": "by its first run"}
HEADINGS = {"service": "Services", "agent": "Agents", "model": "Models", "tool": "Tools", "engine": "Engines"}


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileLine:
    share: str
    now: Figure
    was: str
    usual: str
    range: str
    delta: Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureBlock:
    label: str
    lines: list[QuantileLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayLine:
    label: str
    date: str
    before: str
    after: str
    before_ns: int | None
    after_ns: int | None
    runs: str
    is_break: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverLine:
    name: str
    count: str
    before: str
    after: str
    delta: Delta
    part: str
    reason: str
    totals_ns: list[tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MoverTable:
    dimension: str
    heading: str
    of: str
    lines: list[MoverLine]
    left_off: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLine:
    label: str
    of_what: str
    now: str
    was: str
    range: str
    delta: Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """Cells of a plain table, the first its name."""

    cells: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    over: str
    week: str
    week_name: str
    last_name: str
    headline: Sentence
    sentences: list[Sentence]
    act: Sentence | None
    measures: list[MeasureBlock]
    days: list[DayLine]
    days_say: str
    top_day: int | None
    shift: Shift | None
    movers: list[MoverTable]
    engines: EnginesTable | None
    rates: list[RateLine]
    completion: list[Row]
    cost: Row | None
    quality: list[Row]
    deploys: list[Row]
    deploy_marks: list[tuple[float, str]]  # days since the week's begin, and what went live
    alerts: list[Row]
    slos: list[tuple[Row, str]]  # and its tone
    worth: list[tuple[str, str, str, str]]  # run id, whose, why, wall
    foot: str


def write_sheet(report: Report) -> Sheet:
    week = read_week(report.week)
    last = week.shifted(-1)
    week_name, last_name = f"week {week.number}", f"week {last.number}"
    top = max(
        (at for at, d in enumerate(report.days) if d.after_p95_ns is not None),
        key=lambda at: report.days[at].after_p95_ns or 0, default=None,
    )  # fmt: skip
    return Sheet(
        over=f"Week {week.number}, {span_of_days(week)}{'' if report.whole else ', so far'}, against {last_name} · "
        f"{report.project_name} · {figures.plural(report.runs_after, 'run')} · {ZoneInfo(report.zone).key}",
        week=report.week, week_name=week_name, last_name=last_name, headline=report.headline,
        sentences=report.sentences, act=report.act, measures=list(_measures(report)), days=list(_days(report)),
        days_say=f"p95 wall time by day of {week_name} and {last_name}", top_day=top,
        shift=write_shift(report.split, week_name, last_name) if report.split else None,
        movers=[_movers(movers) for movers in report.movers if movers.rows],
        engines=write_engines(report.engines, week_name, last_name) if report.engines else None,
        rates=list(_rates(report)), completion=list(_completion(report)), cost=_cost(report),
        quality=list(_quality(report)),
        deploys=[
            Row(cells=[f"{d.service} {d.version}", _moment(d.at_unix_ns, report.zone), SOURCES[d.source]])
            for d in report.deploys
        ],
        deploy_marks=_marks(report),
        alerts=[
            Row(cells=[a.rule, a.severity, figures.plural(a.fired, "time"), str(figures.duration(a.firing_ns))])
            for a in report.alerts
        ],
        slos=list(_slos(report)),
        worth=[(r.run_id, r.service or r.name, r.why, str(figures.duration(r.wall_ns))) for r in report.worth],
        foot=FOOT,
    )  # fmt: skip


FOOT = (
    "How to read this. Times are what users waited; six stages and four outside times add up to the wall time exactly. "
    "Quantiles do not add up, so the change by stage is told in means. ≈ marks what may be chance: changes under 3 %, "
    "or under four times their standard error. Ranges are 95 % intervals of the change. Quantiles carry an error of at "
    "most 1 %; under 20 samples their number is given. Runs count in the week in which they end."
)


def _measures(report: Report) -> Iterator[MeasureBlock]:
    for measure in report.measures:
        lines = []
        for row in measure.rows:
            change = row.change
            now = time(change.after)
            few = 0 < change.after_count < FEW
            lines.append(QuantileLine(
                share=row.share, now=Figure(now.value, f"{now.unit} (n {change.after_count})" if few else now.unit),
                was=str(time(change.before)), usual=str(figures.duration(row.four_week_median_ns)),
                range=interval(change), delta=delta(change),
            ))  # fmt: skip
        yield MeasureBlock(label=measure.label, lines=lines)


def _days(report: Report) -> Iterator[DayLine]:
    for at, (row, date) in enumerate(zip(report.days, read_week(report.week).days, strict=True)):
        yield DayLine(
            label=f"{DAY_NAMES[at][:3]} {date.day}", date=row.date, before=str(figures.duration(row.before_p95_ns)),
            after=str(figures.duration(row.after_p95_ns)), before_ns=row.before_p95_ns, after_ns=row.after_p95_ns,
            runs=str(figures.count(row.after_runs)), is_break=row.date == report.break_day,
        )  # fmt: skip


def _movers(movers: Movers) -> MoverTable:
    return MoverTable(
        dimension=movers.dimension, heading=HEADINGS[movers.dimension], of=movers.of,
        lines=[_mover(row) for row in movers.rows], left_off=movers.left_off,
    )  # fmt: skip


def _mover(row: Mover) -> MoverLine:
    shown = (
        row.p95
        if row.p95.claimed or not (row.p50.claimed or row.mean.claimed)
        else row.p50
        if row.p50.claimed
        else row.mean
    )
    told = delta(shown)
    if shown.claimed and shown is not row.p95:
        told = Delta(text=f"{told.text} {'p50' if shown is row.p50 else 'mean'}", tone=told.tone)
    return MoverLine(
        name=row.name if row.name is not None else "none told", count=str(figures.count(row.after_count)),
        before=_with_count(row.p95.before, row.before_count), after=_with_count(row.p95.after, row.after_count),
        delta=told,
        part="" if row.part_ns is None else _part(row.part_ns), reason=row.reason,
        totals_ns=[(owner, ns) for owner, ns in row.totals_ns.items() if ns > 0],
    )  # fmt: skip


def _with_count(ns: float | None, count: int) -> str:
    return f"{time(ns)} (n {count})" if 0 < count < FEW else str(time(ns))


def _part(ns: int) -> str:
    shown = figures.duration(ns)
    return f"+{shown}" if ns > 0 else str(shown)


def _rates(report: Report) -> Iterator[RateLine]:
    for rate in report.rates:
        yield RateLine(
            label=rate.label, of_what=f"of {figures.grouped(rate.change.after_count)} {rate.of_what}",
            now=str(figures.percent(rate.change.after)), was=str(figures.percent(rate.change.before)),
            range=interval(rate.change, points=True),
            delta=delta(rate.change, points=True, more_is_better=rate.more_is_better),
        )  # fmt: skip


def _completion(report: Report) -> Iterator[Row]:
    for band in report.completion:
        if band.before_runs or band.after_runs:
            low, high = figures.duration(band.from_ns), figures.duration(band.to_ns)
            name = f"over {low}" if high == NOT_KNOWN else f"up to {high}" if not band.from_ns else f"{low} to {high}"
            yield Row(cells=[
                name, figures.grouped(band.after_runs), _share(band.after_completed, band.after_runs),
                _share(band.before_completed, band.before_runs),
            ])  # fmt: skip


def _share(part: int, whole: int) -> str:
    return str(figures.percent(figures.share_of(part, whole)))


def _cost(report: Report) -> Row | None:
    if report.cost is None:
        return None
    cost = report.cost
    note = f"+ {figures.plural(cost.after_unknown_calls, 'call')} of unknown cost" if cost.after_unknown_calls else ""
    return Row(cells=["Cost of model calls", str(figures.cost(cost.after, cost.currency)),
                      str(figures.cost(cost.before, cost.currency)), note])  # fmt: skip


def _quality(report: Report) -> Iterator[Row]:
    quality = report.quality
    for name, number in _three(quality.measured, quality.estimated, quality.unknown):
        yield Row(cells=[name, figures.grouped(number), _share(number, quality.calls), "of model calls"])
    yield Row(cells=["Runs with time that nobody splits", figures.grouped(quality.unsplit_runs),
                     _share(quality.unsplit_runs, quality.runs), "of runs"])  # fmt: skip


def _moment(unix_ns: int, zone: str) -> str:
    """``Wed 25, 14:02``."""
    at = figures.instant(unix_ns).astimezone(ZoneInfo(zone))
    return f"{DAY_NAMES[at.weekday()][:3]} {at.day}, {at:%H:%M}"


def _marks(report: Report) -> list[tuple[float, str]]:
    """Of each day the first, and how many more: a week may have hundreds."""
    by_day: dict[str, list[DeployRow]] = {}
    for deploy in report.deploys:
        by_day.setdefault(deploy.date, []).append(deploy)
    bounds = read_week(report.week).day_bounds_ns(ZoneInfo(report.zone))
    dates = [row.date for row in report.days]
    marks = []
    for date, deploys in by_day.items():
        lead = next((d for d in deploys if d.service == report.lead), deploys[0])
        at = dates.index(date)
        part = (lead.at_unix_ns - bounds[at]) / (bounds[at + 1] - bounds[at])
        more = f" +{len(deploys) - 1}" if len(deploys) > 1 else ""
        marks.append((at + part, f"{lead.service} {lead.version}"[:24] + more))
    return marks


def _slos(report: Report) -> Iterator[tuple[Row, str]]:
    for slo in report.slos:
        verdict = {True: "met", False: "missed", None: "nothing counted"}[slo.is_met]
        cells = [
            slo.name,
            verdict,
            _exact_share(slo.share),
            _exact_share(slo.target),
            f"of {figures.grouped(slo.total)}",
        ]
        yield Row(cells=cells), "worse" if slo.is_met is False else ""


def _exact_share(share: float | None) -> str:
    """Two decimals: objectives lie close to the whole."""
    return figures.UNKNOWN if share is None else f"{share * 100:.2f}{THIN}%"


def _three(*counts: int) -> Sequence[tuple[str, int]]:
    return list(zip(("First token measured", "First token estimated", "First token unknown"), counts, strict=True))

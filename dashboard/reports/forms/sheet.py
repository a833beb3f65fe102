"""Every figure of a report as text, once. Parts that add up are rounded together. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from dashboard import figures
from dashboard.figures import MS, NOT_KNOWN, SECOND, THIN, Figure
from dashboard.reports.core.noise import FEW, Change
from dashboard.reports.core.parts import Cause, Split
from dashboard.reports.core.values import DeployRow, Mover, Movers, Report, Sentence
from dashboard.reports.core.weeks import read_week, span_of_days
from dashboard.reports.core.writing import DAY_NAMES
from ingest.packed import OWNERS

SAME = "≈"
SOURCES = {"told": "as it was told", "seen": "by its first run"}
LABELS = {
    "prefill": "Prefill", "decode": "Decode", "tool_parsing": "Tool parsing", "tool_execution": "Tool execution",
    "re_encoding": "Re-encoding", "continue_decode": "Continue decode", "queue": "Queue", "transport": "Transport",
    "model_unsplit": "Unsplit model", "orchestration": "Orchestration",
}  # fmt: skip
OWNER_NAMES = tuple(owner.value for owner in OWNERS)
HEADINGS = {"service": "Services", "agent": "Agents", "model": "Models", "tool": "Tools", "engine": "Engines"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A change: the arrow tells the direction, ``tone`` (worse, better, empty) the judgement; ≈ is noise."""

    text: str
    tone: str = ""


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
class ShiftLine:
    """``left`` and ``width`` are shares of the lane."""

    stage: str
    label: str
    before: str
    after: str
    change: str
    left: float
    width: float

    @property
    def css(self) -> str:
        return self.stage.replace("_", "-")

    @property
    def left_percent(self) -> str:
        return f"{self.left * 100:.2f}"

    @property
    def width_percent(self) -> str:
        return f"{max(self.width * 100, 0.15):.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The mean run of both weeks by stage; ``causes`` split the change once more."""

    last_name: str
    week_name: str
    before_ns: int
    after_ns: int
    bars: list[tuple[str, str, list[tuple[str, int]]]]
    rows: list[ShiftLine]
    total: ShiftLine
    causes: list[tuple[str, str]]
    zero: float
    unit: str
    says: str


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
        shift=_shift(report.split, week_name, last_name) if report.split else None,
        movers=[_movers(movers) for movers in report.movers if movers.rows], rates=list(_rates(report)),
        completion=list(_completion(report)), cost=_cost(report), quality=list(_quality(report)),
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


def delta(change: Change, *, points: bool = False, more_is_better: bool = False) -> Delta:
    """``▲ 9 %`` where it is claimed; of shares in points."""
    if change.difference is None:
        return Delta(text="")
    if not change.claimed:
        return Delta(text=SAME)
    up = change.difference > 0
    tone = "better" if up == more_is_better else "worse"
    amount = abs(change.difference) if points else abs(change.relative or 0)
    shown = f"{amount * 100:.1f}" if amount < 0.0995 and points else f"{amount * 100:.0f}"
    return Delta(text=f"{'▲' if up else '▼'} {shown}{THIN}{'points' if points else '%'}", tone=tone)


def interval(change: Change, *, points: bool = False) -> str:
    """``+5 to +13 %``."""
    if change.low is None or change.high is None or not change.before:
        return ""
    whole = 1.0 if points else change.before
    low, high = (f"{_signed(value / whole * 100)}" for value in (change.low, change.high))
    return f"{low} to {high}{THIN}{'points' if points else '%'}"


def _signed(value: float) -> str:
    shown = f"{abs(value):.1f}" if abs(value) < 9.95 else f"{abs(value):.0f}"
    return shown if float(shown) == 0 else f"{'+' if value > 0 else '−'}{shown}"


def _measures(report: Report) -> Iterator[MeasureBlock]:
    for measure in report.measures:
        lines = []
        for row in measure.rows:
            change = row.change
            now = _time(change.after)
            few = 0 < change.after_count < FEW
            lines.append(QuantileLine(
                share=row.share, now=Figure(now.value, f"{now.unit} (n {change.after_count})" if few else now.unit),
                was=str(_time(change.before)), usual=str(figures.duration(row.four_week_median_ns)),
                range=interval(change), delta=delta(change),
            ))  # fmt: skip
        yield MeasureBlock(label=measure.label, lines=lines)


def _time(ns: float | None) -> Figure:
    return figures.duration(None if ns is None else round(ns))


def _days(report: Report) -> Iterator[DayLine]:
    for at, (row, date) in enumerate(zip(report.days, read_week(report.week).days, strict=True)):
        yield DayLine(
            label=f"{DAY_NAMES[at][:3]} {date.day}", date=row.date, before=str(figures.duration(row.before_p95_ns)),
            after=str(figures.duration(row.after_p95_ns)), before_ns=row.before_p95_ns, after_ns=row.after_p95_ns,
            runs=str(figures.count(row.after_runs)), is_break=row.date == report.break_day,
        )  # fmt: skip


def _shift(split: Split, week_name: str, last_name: str) -> Shift:
    """Both columns are rounded together and the changes are their differences, so that all sums on paper come out."""
    grain, unit, size = (10 * MS, "s", SECOND) if max(split.before_ns, split.after_ns) >= SECOND else (MS, "ms", MS)
    before, after = (
        dict(zip(OWNER_NAMES, figures.round_together([by[o] for o in OWNER_NAMES], grain), strict=True))
        for by in (split.before_by_owner_ns, split.after_by_owner_ns)
    )
    changes = {owner: after[owner] - before[owner] for owner in OWNER_NAMES}
    moved = sum(changes.values())
    low, high = min(0, moved, *changes.values()), max(0, moved, *changes.values())
    room = max(high - low, grain) * 1.1

    def line(stage: str, label: str, was: int, now: int) -> ShiftLine:
        return ShiftLine(
            stage=stage, label=label, before=_decimal(was, size), after=_decimal(now, size),
            change=_plus(now - was, size), left=(min(0, now - was) - low) / room, width=abs(now - was) / room,
        )  # fmt: skip

    totals = sum(before.values()), sum(after.values())
    causes = figures.round_together([split.ns(cause=cause) for cause in Cause], grain)
    causes[-1] += moved - sum(causes)
    return Shift(
        last_name=last_name.capitalize(), week_name=week_name.capitalize(), before_ns=split.before_ns,
        after_ns=split.after_ns,
        bars=[
            (name.capitalize(), f"{_decimal(total, size)}{THIN}{unit}", [(o, by[o]) for o in OWNER_NAMES if by[o] > 0])
            for name, total, by in (
                (last_name, totals[0], split.before_by_owner_ns), (week_name, totals[1], split.after_by_owner_ns)
            )
        ],
        rows=[line(owner, LABELS[owner], before[owner], after[owner]) for owner in OWNER_NAMES],
        total=line("", "Wall, mean", *totals),
        causes=list(zip(
            ("Mix of services", "Mix of models within them", "Same services, same models"),
            (f"{_plus(ns, size)}{THIN}{unit}" for ns in causes), strict=True,
        )),
        zero=-low / room, unit=unit,
        says=f"Mean run: {_decimal(totals[0], size)} {unit} in {last_name}, "
        f"{_decimal(totals[1], size)} {unit} in {week_name}",
    )  # fmt: skip


def _decimal(ns: int, size: int) -> str:
    return f"{ns / size:.2f}" if size == SECOND else f"{ns // size}"


def _plus(ns: int, size: int) -> str:
    return "0" if ns == 0 else f"{'+' if ns > 0 else '−'}{_decimal(abs(ns), size)}"


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
    return f"{_time(ns)} (n {count})" if 0 < count < FEW else str(_time(ns))


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

"""Engines' own figures as text. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboard import figures
from dashboard.reports.core.engines import A_THOUSAND, WHOLE_SHARE, EngineFigure, EngineRow, EngineWeeks
from dashboard.reports.forms.changes import Delta, delta, interval, time

MOST_ENGINES = 8
BY_WHOM = "measured by the engines themselves: means of their histograms, and their counters"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLine:
    label: str
    now: str
    was: str
    range: str
    delta: Delta


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineBlock:
    """``says`` is how many requests it finished, and of how much of a week nobody knows."""

    id: int
    name: str
    says: str
    lines: list[EngineLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class EnginesTable:
    by_whom: str
    blocks: list[EngineBlock]
    notes: list[str]


def write_engines(weeks: EngineWeeks, week_name: str, last_name: str) -> EnginesTable:
    blocks = [
        EngineBlock(
            id=row.id, name=row.name, says="; ".join(_says(row, week_name, last_name)),
            lines=[_line(figure) for figure in row.figures],
        )
        for row in weeks.rows[:MOST_ENGINES]
    ]  # fmt: skip
    left = max(0, len(weeks.rows) - MOST_ENGINES)
    more = [f"And {figures.plural(left, 'engine')} more that changed less."] if left else []
    if weeks.left_off:
        more.append(f"{figures.plural(weeks.left_off, 'engine')} beyond the first of the list, by name, were not read.")
    return EnginesTable(by_whom=BY_WHOM, blocks=blocks, notes=[*more, *([weeks.note] if weeks.note else [])])


def value(figure: EngineFigure, told: float | None) -> str:
    if figure.is_time:
        return str(time(told))
    if figure.name == "hit_rate":
        return str(figures.percent(told))
    return figures.UNKNOWN if told is None else f"{told * A_THOUSAND:.1f}"


def _line(figure: EngineFigure) -> EngineLine:
    is_share = figure.name == "hit_rate"
    return EngineLine(
        label=figure.label, now=value(figure, figure.change.after), was=value(figure, figure.change.before),
        range=interval(figure.change, points=is_share),
        delta=delta(figure.change, points=is_share, more_is_better=is_share),
    )  # fmt: skip


def _says(row: EngineRow, week_name: str, last_name: str) -> Iterator[str]:
    if row.after_requests is not None:
        was = "" if row.before_requests is None else f", {figures.grouped(row.before_requests)} in {last_name}"
        yield f"{figures.plural(row.after_requests, 'request')}{was}"
    for name, share in ((week_name, row.after_observed), (last_name, row.before_observed)):
        if share < WHOLE_SHARE:
            yield f"observed {figures.percent(share)} of {name}"

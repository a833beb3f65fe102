"""A report as CSV: one line a figure, as it is shown and, where there is one, the exact value behind it. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from dashboard.api.tables import safe_cell
from dashboard.reports.core.noise import Change
from dashboard.reports.core.values import Report
from dashboard.reports.forms.sheet import Sheet, write_sheet

COLUMNS = (
    "week", "section", "of", "figure", "unit", "shown", "shown_before", "change", "value", "value_before", "low",
    "high", "claimed", "count", "count_before",
)  # fmt: skip
Line = dict[str, object]


def as_csv(report: Report) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for line in _lines(report):
        writer.writerow([safe_cell(({"week": report.week} | line).get(column)) for column in COLUMNS])
    return text.getvalue()


def _lines(report: Report) -> Iterator[Line]:
    sheet = write_sheet(report)
    for section in (_said, _quantiles, _days, _stages, _movers, _engines, _rates, _beside):
        yield from section(report, sheet)


def _said(report: Report, sheet: Sheet) -> Iterator[Line]:
    said = [("headline", sheet.headline), *(("sentence", s) for s in sheet.sentences)]
    for section, sentence in [*said, *([("act", sheet.act)] if sheet.act else [])]:
        yield {"section": section, "shown": sentence.text}


def _quantiles(report: Report, sheet: Sheet) -> Iterator[Line]:
    for measure, block in zip(report.measures, sheet.measures, strict=True):
        for row, line in zip(measure.rows, block.lines, strict=True):
            yield {
                "section": "quantiles", "of": measure.name, "figure": row.share, "unit": "ns", "shown": str(line.now),
                "shown_before": line.was, "change": line.delta.text, **_change(row.change),
            }  # fmt: skip
            yield {
                "section": "quantiles", "of": measure.name, "figure": f"{row.share}, median of four weeks",
                "unit": "ns", "shown": line.usual, "value": row.four_week_median_ns, "count": row.weeks,
            }  # fmt: skip


def _days(report: Report, sheet: Sheet) -> Iterator[Line]:
    for day, shown in zip(report.days, sheet.days, strict=True):
        yield {
            "section": "days", "of": day.date, "figure": "wall p95", "unit": "ns", "shown": shown.after,
            "shown_before": shown.before, "value": day.after_p95_ns, "value_before": day.before_p95_ns,
            "count": day.after_runs, "count_before": day.before_runs,
        }  # fmt: skip


def _stages(report: Report, sheet: Sheet) -> Iterator[Line]:
    if report.split and sheet.shift:
        for line in sheet.shift.rows:
            yield {
                "section": "stages", "of": line.stage, "figure": "mean a run", "unit": "ns", "shown": line.after,
                "shown_before": line.before, "change": line.change, "value": report.split.after_by_owner_ns[line.stage],
                "value_before": report.split.before_by_owner_ns[line.stage],
            }  # fmt: skip
        total = sheet.shift.total
        yield {
            "section": "stages", "of": "wall", "figure": "mean a run", "unit": "ns", "shown": total.after,
            "shown_before": total.before, "change": total.change, "value": report.split.after_ns,
            "value_before": report.split.before_ns,
        }  # fmt: skip
        for part in report.split.parts:
            yield {
                "section": "split", "of": part.service, "figure": f"{part.cause}: {part.owner}", "unit": "ns",
                "shown": ", ".join(part.models), "value": part.ns,
            }  # fmt: skip


def _movers(report: Report, sheet: Sheet) -> Iterator[Line]:
    for movers, table in zip((m for m in report.movers if m.rows), sheet.movers, strict=True):
        for mover, shown_mover in zip(movers.rows, table.lines, strict=True):
            yield {
                "section": f"{movers.dimension}s", "of": shown_mover.name, "figure": "wall p95", "unit": "ns",
                "shown": shown_mover.after, "shown_before": shown_mover.before, "change": shown_mover.delta.text,
                **_change(mover.p95),
            }  # fmt: skip
            if mover.part_ns is not None:
                yield {
                    "section": f"{movers.dimension}s", "of": shown_mover.name, "figure": "part in the mean",
                    "unit": "ns", "shown": shown_mover.part, "value": mover.part_ns,
                }  # fmt: skip


def _engines(report: Report, sheet: Sheet) -> Iterator[Line]:
    """Measured by the engines themselves."""
    if report.engines is None or sheet.engines is None:
        return
    for row, block in zip(report.engines.rows, sheet.engines.blocks, strict=False):
        yield {"section": "engines themselves", "of": row.name, "figure": "requests", "unit": "requests",
               "shown": block.says, "value": row.after_requests, "value_before": row.before_requests}  # fmt: skip
        for figure, line in zip(row.figures, block.lines, strict=True):
            yield {
                "section": "engines themselves", "of": row.name, "figure": line.label,
                "unit": "ns" if figure.is_time else "share" if figure.name == "hit_rate" else "a request",
                "shown": line.now, "shown_before": line.was, "change": line.delta.text, **_change(figure.change),
            }  # fmt: skip
    for note in (sheet.engines.by_whom, *sheet.engines.notes):
        yield {"section": "engines themselves", "figure": "note", "shown": note}


def _rates(report: Report, sheet: Sheet) -> Iterator[Line]:
    for rate, shown_rate in zip(report.rates, sheet.rates, strict=True):
        yield {
            "section": "rates", "of": rate.name, "figure": rate.of_what, "unit": "share", "shown": shown_rate.now,
            "shown_before": shown_rate.was, "change": shown_rate.delta.text, **_change(rate.change),
        }  # fmt: skip
    for row in sheet.completion:
        name, runs, now, was = row.cells
        yield {"section": "completion", "of": name, "figure": "completed", "unit": "share", "shown": now,
               "shown_before": was, "count": runs}  # fmt: skip
    if report.cost and sheet.cost:
        yield {"section": "cost", "figure": sheet.cost.cells[0], "unit": report.cost.currency,
               "shown": sheet.cost.cells[1], "shown_before": sheet.cost.cells[2], "value": report.cost.after,
               "value_before": report.cost.before, "change": sheet.cost.cells[3]}  # fmt: skip
    for row in sheet.quality:
        name, number, share, of_what = row.cells
        yield {
            "section": "quality",
            "of": name,
            "figure": of_what,
            "unit": "share",
            "shown": share,
            "count": number,
        }


def _beside(report: Report, sheet: Sheet) -> Iterator[Line]:
    """What stood beside the figures: deploys, objectives, alerts, and runs worth opening."""
    for deploy in report.deploys:
        yield {
            "section": "deploys",
            "of": deploy.service,
            "figure": deploy.source,
            "shown": deploy.version,
            "value": deploy.at_unix_ns,
        }
    for slo, (row, _) in zip(report.slos, sheet.slos, strict=True):
        yield {"section": "objectives", "of": slo.name, "figure": row.cells[1], "unit": "share",
               "shown": row.cells[2], "shown_before": row.cells[3], "value": slo.share, "count": slo.total}  # fmt: skip
    for alert, row in zip(report.alerts, sheet.alerts, strict=True):
        yield {"section": "alerts", "of": alert.rule, "figure": f"firing, {alert.severity}", "unit": "ns",
               "shown": row.cells[3], "value": alert.firing_ns, "count": alert.fired}  # fmt: skip
    for run in report.worth:
        yield {"section": "runs", "of": run.run_id, "figure": run.why, "unit": "ns", "value": run.wall_ns}


def _change(change: Change) -> Line:
    return {
        "value": change.after, "value_before": change.before, "low": change.low, "high": change.high,
        "claimed": change.claimed, "count": change.after_count, "count_before": change.before_count,
    }  # fmt: skip

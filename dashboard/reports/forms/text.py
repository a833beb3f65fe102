"""A report as plain text, for mail programs without HTML and for terminals. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from dashboard.reports.core.values import Report
from dashboard.reports.forms.sheet import Sheet, write_sheet

WIDTH = 78


def as_text(report: Report, link: str = "") -> str:
    sheet = write_sheet(report)
    parts = [
        sheet.over,
        sheet.headline.text,
        *(s.text for s in sheet.sentences),
        *([sheet.act.text] if sheet.act else []),
    ]
    blocks = ["\n".join(textwrap.fill(part, WIDTH) for part in parts)]
    if report.runs_after:
        blocks += _tables(sheet)
    blocks.append(textwrap.fill(sheet.foot, WIDTH))
    if link:
        blocks.append(f"On the web, with PDF and CSV: {link}")
    return "\n\n".join(blocks) + "\n"


def _tables(sheet: Sheet) -> list[str]:
    told: list[str] = []
    lines = [["", "", sheet.week_name, sheet.last_name, "4 weeks", "change", "range"]]
    for block in sheet.measures:
        lines += [
            [
                block.label if at == 0 else "",
                line.share,
                str(line.now),
                line.was,
                line.usual,
                line.delta.text,
                line.range,
            ]
            for at, line in enumerate(block.lines)
        ]
    told.append(table("Against the week before, and the median of four weeks", lines))
    days = [["Wall time p95 by day", sheet.week_name, sheet.last_name, "runs"]]
    told.append(table("", days + [[d.label, d.after, d.before, d.runs] for d in sheet.days]))
    if sheet.shift:
        shift = sheet.shift
        rows = [["Stage", shift.last_name, shift.week_name, "Change"]]
        rows += [[r.label, r.before, r.after, r.change] for r in (*shift.rows, shift.total)]
        told.append(table(f"Where the change came from: mean {shift.unit} a run", rows))
        told.append(table("Of the change", [[name, ns] for name, ns in shift.causes]))
    for movers in sheet.movers:
        head = [movers.heading, movers.of, f"p95 {sheet.last_name}", f"p95 {sheet.week_name}", "change"]
        rows = [[m.name, m.count, m.before, m.after, m.delta.text] for m in movers.lines]
        if movers.dimension == "service":
            head += ["part in mean", "main reason"]
            rows = [[*row, m.part, m.reason] for row, m in zip(rows, movers.lines, strict=True)]
        told.append(table("", [head, *rows]))
    if sheet.engines:
        told += [
            table(
                f"Engine {block.name}: {block.says}" if block.says else f"Engine {block.name}",
                [[line.label, line.now, f"was {line.was}", line.delta.text, line.range] for line in block.lines],
            )
            for block in sheet.engines.blocks
        ]
        told.append(
            "\n".join(
                textwrap.fill(note, WIDTH) for note in (f"Engines: {sheet.engines.by_whom}.", *sheet.engines.notes)
            )
        )
    told.append(table("Rates", [[r.label, r.now, f"was {r.was}", r.delta.text, r.range] for r in sheet.rates]))
    if sheet.completion:
        rows = [["Completed, by time to first token", "runs", sheet.week_name, sheet.last_name]]
        told.append(table("", rows + [row.cells for row in sheet.completion]))
    if sheet.cost:
        told.append(table("", [sheet.cost.cells]))
    told.append(table("How much was measured", [row.cells for row in sheet.quality]))
    if sheet.deploys:
        told.append(table("Deploys", [row.cells for row in sheet.deploys]))
    if sheet.slos:
        rows = [["Objectives", "", sheet.week_name, "target", ""]]
        told.append(table("", rows + [row.cells for row, _ in sheet.slos]))
    if sheet.alerts:
        told.append(table("Alerts that fired", [row.cells for row in sheet.alerts]))
    if sheet.worth:
        told.append(table("Runs worth opening", [[who, why, wall, run] for run, who, why, wall in sheet.worth]))
    return told


def table(title: str, rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need be: the first to the left, figures to the right, the last as it comes."""
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(widths[at]) if at == 0 or at == len(row) - 1 else cell.rjust(widths[at])
            for at, cell in enumerate(row)
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(([title] if title else []) + lines)

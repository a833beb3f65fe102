"""A report as PDF, A4: the same figures and pictures as the page. Pure."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    CondPageBreak,
    Flowable,
    KeepTogether,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

from dashboard.reports.core.values import Report
from dashboard.reports.forms.changes import Delta
from dashboard.reports.forms.colours import TONES, colour
from dashboard.reports.forms.fonts import PLAIN, register, remarks, stretches
from dashboard.reports.forms.pictures import Box, Dot, Line, Picture, Words, days_picture, shift_picture
from dashboard.reports.forms.sheet import Sheet, write_sheet

MARGIN = 16 * mm
WIDTH = A4[0] - 2 * MARGIN - 12  # a frame keeps six points at either side
SMALL, USUAL = 7.5, 8.5


def as_pdf(report: Report) -> bytes:
    """The same report always gives the same bytes."""
    register()
    sheet = write_sheet(report)
    body = io.BytesIO()
    title = f"{report.project_name}, {sheet.week}"
    document = SimpleDocTemplate(
        body, pagesize=A4, leftMargin=MARGIN, rightMargin=MARGIN, topMargin=MARGIN, bottomMargin=MARGIN, title=title,
        author="Sixstage", subject=sheet.headline.text, invariant=1, lang="en",
    )  # fmt: skip
    foot = _foot(title)
    document.build(_story(report, sheet), onFirstPage=foot, onLaterPages=foot)
    return body.getvalue()


def _foot(title: str) -> Any:
    def draw(canvas: Canvas, document: Any) -> None:
        x, y = MARGIN, 9 * mm
        for font, text in stretches(f"Sixstage · {title} · page {document.page}"):
            canvas.setFont(font, SMALL)
            canvas.setFillColor(HexColor(colour("text-3")))
            canvas.drawString(x, y, text)
            x += canvas.stringWidth(text, font, SMALL)

    return draw


def _story(report: Report, sheet: Sheet) -> list[Flowable]:
    story: list[Flowable] = [
        _words(sheet.over, SMALL, "text-3"), _words(sheet.headline.text, 15, "text", strong=True, after=5),
        *(_words(s.text, 10, "text-2", after=3) for s in sheet.sentences),
    ]  # fmt: skip
    if sheet.act:
        story.append(_words(sheet.act.text, 10, "text", strong=True, after=3))
    if report.runs_after:
        story += _figures(sheet)
    notes = [*remarks([report.project_name, *_texts(sheet)]), sheet.foot]
    return [*story, Spacer(1, 8), *(_words(note, SMALL, "text-3", after=2) for note in notes)]


def _texts(value: Any) -> Iterator[str]:
    """All that a sheet says."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _texts(getattr(value, field.name))


def _figures(sheet: Sheet) -> list[Flowable]:
    story = _part(
        "Against the week before, and the median of four weeks",
        _table(
            [["", "", sheet.week_name, sheet.last_name, "4 weeks", "change", "range"]]
            + [
                [block.label if at == 0 else "", line.share, str(line.now), line.was, line.usual, line.delta,
                 line.range]
                for block in sheet.measures for at, line in enumerate(block.lines)
            ],
            (30, 8, 17, 17, 17, 14, 25), right=(2, 3, 4, 5, 6), strong=(2,),
        ),
    )  # fmt: skip
    story += _part("Wall time p95 by day", _Drawn(days_picture(sheet), WIDTH))
    if sheet.shift:
        causes = "; ".join(f"{name} {ns}" for name, ns in sheet.shift.causes)
        story += _part(
            f"Where the change came from: mean {sheet.shift.unit} a run",
            _Drawn(shift_picture(sheet.shift), WIDTH * 0.76),
            _words(f"Of the change: {causes}.", SMALL, "text-2"),
        )  # fmt: skip
    for movers in sheet.movers:
        by_service = movers.dimension == "service"
        rows: list[list[str | Delta]] = [
            [movers.heading, movers.of, f"p95 {sheet.last_name}", f"p95 {sheet.week_name}", "change",
             *(("part in mean", "main reason") if by_service else ())]
        ]  # fmt: skip
        rows += [
            [m.name, m.count, m.before, m.after, m.delta, *((m.part, m.reason) if by_service else ())]
            for m in movers.lines
        ]
        widths = (26, 13, 20, 20, 22, 18, 42) if by_service else (58, 20, 24, 24, 24)
        story += _part("", _table(rows, widths, right=(1, 2, 3, 4, 5), strong=(3,)))
    if sheet.engines:
        rows = [["Engines, by their own count", sheet.week_name, sheet.last_name, "change", "range"]]
        for block in sheet.engines.blocks:
            rows.append([f"{block.name}: {block.says}" if block.says else block.name, "", "", "", ""])
            rows += [[f"– {line.label}", line.now, line.was, line.delta, line.range] for line in block.lines]
        notes = [_words(note, SMALL, "text-2") for note in (sheet.engines.by_whom, *sheet.engines.notes)]
        story += _part("", _table(rows, (78, 20, 20, 24, 34), right=(1, 2, 3, 4), strong=(1,)), *notes)
    rates: list[list[str | Delta]] = [["Rates", sheet.week_name, sheet.last_name, "change", "range", ""]]
    rates += [[r.label, r.now, r.was, r.delta, r.range, r.of_what] for r in sheet.rates]
    story += _part("", _table(rates, (28, 16, 16, 20, 28, 50), right=(1, 2, 3, 4), strong=(1,)))
    if sheet.completion:
        rows = [["Completed, by time to first token", "runs", sheet.week_name, sheet.last_name]]
        story += _part("", _table(rows + [list(r.cells) for r in sheet.completion], (58, 20, 24, 24), right=(1, 2, 3)))
    plain = [*([sheet.cost.cells] if sheet.cost else []), *(row.cells for row in sheet.quality)]
    story += _part(
        "", _table([["Cost and data quality", "", "", ""], *map(list, plain)], (58, 30, 30, 40), right=(1, 2))
    )
    if sheet.deploys:
        story += _part("", _table([["Deploys", "when", ""], *(list(r.cells) for r in sheet.deploys)], (70, 40, 50), ()))
    if sheet.slos:
        rows = [["Objectives", "", sheet.week_name, "target", ""]]
        rows += [[c[0], Delta(text=c[1], tone=tone), *c[2:]] for c, tone in ((r.cells, tone) for r, tone in sheet.slos)]
        story += _part("", _table(rows, (58, 28, 20, 20, 30), right=(2, 3, 4)))
    if sheet.alerts:
        alerts: list[list[str | Delta]] = [["Alerts that fired", "severity", "fired", "for"]]
        story += _part("", _table(alerts + [list(r.cells) for r in sheet.alerts], (80, 28, 24, 30), right=(2, 3)))
    if sheet.worth:
        rows = [["Runs worth opening", "why", "wall", "run"]]
        rows += [[who, why, wall, run] for run, who, why, wall in sheet.worth]
        story += _part("", _table(rows, (36, 34, 18, 88), right=(2,)))
    return story


def _part(title: str, *inside: Flowable) -> list[Flowable]:
    head = [_words(title, 9.5, "text", strong=True, after=3)] if title else []
    return [CondPageBreak(30 * mm), Spacer(1, 8), KeepTogether([*head, *inside])]


def _words(
    text: str, size: float, shade: str, *, strong: bool = False, after: float = 0, right: bool = False
) -> Paragraph:
    style = ParagraphStyle(
        "any", fontName=PLAIN, fontSize=size, leading=size * 1.4, textColor=HexColor(colour(shade)), spaceAfter=after,
        **({"alignment": TA_RIGHT} if right else {}),
    )  # fmt: skip
    return Paragraph(
        "".join(f'<font name="{font}">{escape(part)}</font>' for font, part in stretches(text, strong=strong)), style
    )


def _table(
    rows: Sequence[Sequence[str | Delta]], widths_mm: Sequence[float], right: Sequence[int], strong: Sequence[int] = ()
) -> Table:
    """The first row is its head. Cells wrap rather than lose anything."""
    cells = [
        [
            _words(cell.text, USUAL, TONES[cell.tone], right=at in right) if isinstance(cell, Delta)
            else _words(cell, SMALL if number == 0 else USUAL, "text-3" if number == 0 else "text", right=at in right,
                        strong=number > 0 and at in strong)
            for at, cell in enumerate(row)
        ]
        for number, row in enumerate(rows)
    ]  # fmt: skip
    share = WIDTH / sum(widths_mm)
    table = Table(cells, colWidths=[width * share for width in widths_mm], repeatRows=1)
    table.setStyle(TableStyle([
        ("VALIGN", (0, 0), (-1, -1), "TOP"), ("LINEBELOW", (0, 0), (-1, 0), 0.5, HexColor(colour("line-strong"))),
        ("LINEBELOW", (0, 1), (-1, -2), 0.25, HexColor(colour("line"))), ("LEFTPADDING", (0, 0), (0, -1), 0),
        ("RIGHTPADDING", (-1, 0), (-1, -1), 0), ("TOPPADDING", (0, 0), (-1, -1), 1.5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 2.5),
    ]))  # fmt: skip
    return table


class _Drawn(Flowable):
    """A picture in the document's lines."""

    def __init__(self, picture: Picture, width: float) -> None:
        super().__init__()
        self.picture, self.scale = picture, width / picture.width
        self.width, self.height = width, picture.height * self.scale

    def wrap(self, *_: float) -> tuple[float, float]:
        return self.width, self.height

    def draw(self) -> None:
        canvas = self.canv
        canvas.saveState()
        canvas.scale(self.scale, self.scale)
        for shape in self.picture.shapes:
            _draw(canvas, shape, self.picture.height)
        canvas.restoreState()


def _draw(canvas: Canvas, shape: Box | Dot | Line | Words, height: float) -> None:
    """PDF counts from the bottom."""
    ink = HexColor(colour(shape.colour))
    match shape:
        case Line():
            canvas.setStrokeColor(ink)
            canvas.setLineWidth(shape.width)
            canvas.setDash([2, 3] if shape.dashed else [])
            for (x0, y0), (x1, y1) in zip(shape.points, shape.points[1:], strict=False):
                canvas.line(x0, height - y0, x1, height - y1)
            canvas.setDash([])
        case Box():
            canvas.setFillColor(ink)
            canvas.rect(shape.x, height - shape.y - shape.height, shape.width, shape.height, stroke=0, fill=1)
        case Dot():
            canvas.setFillColor(ink)
            canvas.setStrokeColor(HexColor(colour(shape.outline or shape.colour)))
            canvas.circle(shape.x, height - shape.y, shape.radius, stroke=1, fill=1)
        case Words():
            _write(canvas, shape, height - shape.y)


def _write(canvas: Canvas, words: Words, y: float) -> None:
    parts = list(stretches(words.text, strong=words.strong))
    length = sum(canvas.stringWidth(text, font, words.size) for font, text in parts)
    x = words.x - {"start": 0.0, "middle": length / 2, "end": length}[words.anchor]
    canvas.setFillColor(HexColor(colour(words.colour)))
    for font, text in parts:
        canvas.setFont(font, words.size)
        canvas.drawString(x, y, text)
        x += canvas.stringWidth(text, font, words.size)

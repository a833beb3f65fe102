"""Page, plain text, mail, PDF and CSV show the same figures, to the digit."""

from __future__ import annotations

import csv
import io
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pypdf import PdfReader

from dashboard.reports.core.values import Report
from dashboard.reports.core.weeks import Week
from dashboard.reports.forms.fonts import written
from dashboard.reports.forms.mail import as_html
from dashboard.reports.forms.pdf import as_pdf
from dashboard.reports.forms.sheet import Sheet, write_sheet
from dashboard.reports.forms.table import as_csv
from dashboard.reports.forms.text import as_text
from dashboard.reports.making import make_report
from ingest.models import EngineTarget, Project
from tests.integration.engines.drawn_engine import DrawnEngine
from tests.integration.reports.planted import Plan, Traffic
from tests.integration.reports.served_engines import serve

pytestmark = pytest.mark.django_db
LATE_NS = 2 * 10**18
WEEK = Week(2026, 53)


@pytest.fixture
def report(project: Project) -> Report:
    traffic = Traffic(project, seed=3, runs_a_week=500)
    traffic.write(WEEK.shifted(-1), Plan(cause=None))
    traffic.write(WEEK, Plan(cause="x", service="research", changed={"hit_rate": 0.02}))
    engine = DrawnEngine(EngineTarget.objects.create(project=project, name="vllm-a", url="http://10.0.0.1/metrics"))
    serve(engine, WEEK.shifted(-1), seed=1)
    serve(engine, WEEK, seed=2, hit_rate=0.1)
    return make_report(project, WEEK, LATE_NS)


def plain(text: str) -> str:
    """Without markup, and with one kind of space."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).replace("\u202f", " ").replace("\u00a0", " ").split())


def glued(text: str) -> str:
    """Without any space: markup and line ends may stand in a figure's midst."""
    return plain(text).replace(" ", "")


def shown(sheet: Sheet) -> list[str]:
    """Every figure that a report has."""
    lines = [line for block in sheet.measures for line in block.lines]
    told = [sheet.headline.text, *(s.text for s in sheet.sentences), sheet.act.text if sheet.act else ""]
    told += [str(getattr(line, name)) for line in lines for name in ("now", "was", "usual")]
    told += [line.delta.text for line in lines]
    assert sheet.shift is not None
    for row in (*sheet.shift.rows, sheet.shift.total):
        told += [row.before, row.after, row.change]
    for table in sheet.movers:
        for mover in table.lines:
            told += [mover.name, mover.count, mover.before, mover.after, mover.delta.text, mover.part]
    assert sheet.engines is not None
    for block in sheet.engines.blocks:
        told += [block.name, block.says]
        told += [text for line in block.lines for text in (line.label, line.now, line.was, line.delta.text)]
    told += [text for rate in sheet.rates for text in (rate.now, rate.was, rate.delta.text)]
    told += [text for row in (*sheet.completion, *sheet.quality) for text in row.cells[:3]]
    return [text for text in told if text]


def test_every_form_shows_every_figure(report: Report, settings: Any) -> None:
    settings.SIXSTAGE_OPEN = True
    sheet = write_sheet(report)
    page = Client().get(f"/reports/{WEEK}").content.decode()
    pdf = "\n".join(p.extract_text() for p in PdfReader(io.BytesIO(as_pdf(report))).pages)
    # What is drawn in a mail's pictures is text in no HTML.
    assert sheet.shift is not None
    drawn = {cell for row in (*sheet.shift.rows, sheet.shift.total) for cell in (row.before, row.after, row.change)}
    figures = shown(sheet)

    missing = {
        form: [text for text in figures if glued(text) not in body]
        for form, body in {"page": glued(page), "text": glued(as_text(report)), "pdf": glued(pdf)}.items()
    }
    assert missing == {"page": [], "text": [], "pdf": []}
    html = glued(as_html(report, "http://x/"))
    assert [text for text in figures if glued(text) not in html and text not in drawn] == []


def test_csv_has_the_shown_figure_beside_the_exact_one(report: Report) -> None:
    sheet = write_sheet(report)
    lines = list(csv.DictReader(io.StringIO(as_csv(report))))
    cells = {cell for line in lines for cell in line.values()}

    assert [text for text in shown(sheet) if text not in cells and not text.startswith(("+", "−"))] == []
    p95 = next(line for line in lines if (line["section"], line["of"], line["figure"]) == ("quantiles", "wall", "p95"))
    change = report.measures[0].rows[1].change
    assert (p95["value"], p95["value_before"]) == (str(change.after), str(change.before))
    parts = [int(line["value"]) for line in lines if line["section"] == "split"]
    assert report.split is not None
    assert sum(parts) == report.split.moved_ns


def test_the_columns_of_the_split_add_up_as_they_are_shown(report: Report) -> None:
    shift = write_sheet(report).shift
    assert shift is not None

    def number(text: str) -> float:
        return float(text.replace("−", "-"))

    for column in ("before", "after", "change"):
        parts = sum(number(getattr(row, column)) for row in shift.rows)
        assert round(parts, 2) == number(getattr(shift.total, column))


def test_the_same_report_is_the_same_pdf(report: Report) -> None:
    assert as_pdf(report) == as_pdf(report)


def test_names_of_all_scripts_are_written_and_not_blank(project: Project) -> None:
    """In the PDF: by its own font, by those of viewers, or as a letter that stands for it."""
    traffic = Traffic(project, seed=8, runs_a_week=60)
    names = dict(zip(("结账服务", "サポート", "연구", "поиск בדיקה"), traffic.usual.values(), strict=True))
    traffic.usual = names
    traffic.write(Week(2026, 10), Plan(cause=None))
    report = make_report(project, Week(2026, 10), LATE_NS)
    pdf = "".join(p.extract_text() for p in PdfReader(io.BytesIO(as_pdf(report))).pages)

    for name in ("结账服务", "サポート", "연구", "поиск"):
        assert name in pdf
    assert "结账服务" in as_text(report)
    assert written("Łódź 东 Ž") == "Łódz ? Ž"
    said = " ".join(pdf.split())
    assert "No font here has U+05D1, U+05D3, U+05D4, U+05D9, U+05E7: a ? stands for each" in said
    assert "where it shows boxes, the page has them" in said


def test_where_every_sign_has_a_font_nothing_is_remarked(report: Report) -> None:
    pdf = "".join(p.extract_text() for p in PdfReader(io.BytesIO(as_pdf(report))).pages)
    assert "No font here" not in pdf
    assert "boxes" not in pdf

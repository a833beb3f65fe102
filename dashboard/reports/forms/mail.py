"""A report as a mail: plain text, HTML whose pictures travel with it, and the PDF."""

from __future__ import annotations

from email.mime.image import MIMEImage
from email.utils import format_datetime
from typing import Any

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, SafeMIMEMultipart
from django.template.loader import render_to_string

from dashboard.reports.core.values import Report
from dashboard.reports.forms.colours import COLOURS
from dashboard.reports.forms.pdf import as_pdf
from dashboard.reports.forms.pictures import Picture, days_picture, shift_picture
from dashboard.reports.forms.png import as_png
from dashboard.reports.forms.sheet import Sheet, write_sheet
from dashboard.reports.forms.text import as_text
from dashboard.reports.models import OwedMail
from dashboard.reports.storing import read_kept
from ingest.models import Project

WIDTH = 600
SUBJECT_MOST = 150


class _Mail(EmailMultiAlternatives):
    """The HTML and its pictures are one alternative to the text (RFC 2387), so that mail programs show the pictures in
    their places and list only the PDF as attached. Django itself would list them beside the PDF."""

    pictures: dict[str, bytes]

    def _create_alternatives(self, msg: Any) -> Any:
        whole = super()._create_alternatives(msg)
        *others, html = whole.get_payload()
        related = SafeMIMEMultipart(_subtype="related", encoding="utf-8")
        related.attach(html)
        for name, body in self.pictures.items():
            image = MIMEImage(body, "png")
            image.add_header("Content-ID", f"<{name}>")
            image.add_header("Content-Disposition", "inline", filename=f"{name}.png")
            related.attach(image)
        whole.set_payload([*others, related])
        return whole


def write_mail(mail: OwedMail, public_url: str) -> EmailMultiAlternatives:
    """The same report is the same mail at every try: its date is that of the report, its Message-ID that of the row."""
    report, project = read_kept(mail.report), mail.report.project
    link = week_url(public_url, project, report)
    written = _Mail(
        subject=subject(report), body=as_text(report, link), to=[mail.recipient],
        from_email=settings.DEFAULT_FROM_EMAIL,
        headers={
            "Message-ID": mail.message_id, "Date": format_datetime(mail.report.made_at),
            "Auto-Submitted": "auto-generated",
        },
    )  # fmt: skip
    written.attach_alternative(as_html(report, link), "text/html")
    written.pictures = {name: as_png(picture) for name, picture in pictures(write_sheet(report)).items()}
    written.attach(f"{project.slug}-{report.week}.pdf", as_pdf(report), "application/pdf")
    return written


def as_html(report: Report, link: str, source: str = "cid:") -> str:
    """``source`` is what stands before a picture's name: in mails its Content-ID."""
    sheet = write_sheet(report)
    drawn = [
        {"name": name, "source": f"{source}{name}", "says": p.says, "height": round(p.height), "width": round(p.width)}
        for name, p in pictures(sheet).items()
    ]
    return render_to_string(
        "reports/mail.html", {"sheet": sheet, "report": report, "link": link, "c": _names(), "pictures": drawn}
    )


def pictures(sheet: Sheet) -> dict[str, Picture]:
    if not any(day.after_ns for day in sheet.days):
        return {}
    drawn = {"days": days_picture(sheet, WIDTH)}
    if sheet.shift:
        drawn["stages"] = shift_picture(sheet.shift, WIDTH)
    return drawn


def subject(report: Report) -> str:
    sheet = write_sheet(report)
    text = " ".join(f"{report.project_name}, {sheet.week_name}: {report.headline.text}".split())
    return text if len(text) <= SUBJECT_MOST else f"{text[: SUBJECT_MOST - 1].rsplit(' ', 1)[0]} …"


def week_url(public_url: str, project: Project, report: Report) -> str:
    return f"{public_url}/reports/{report.week}?project={project.slug}"


def _names() -> dict[str, str]:
    """Colours by names that a template can say."""
    return {name.replace("-", "_"): value for name, value in COLOURS.items()}

"""Reports that were sent stay as they were; what is owed by mail is written with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from email.utils import make_msgid
from typing import Any

import msgspec
from django.db import transaction

from dashboard import figures
from dashboard.reports.core.values import Report
from dashboard.reports.core.weeks import Week
from dashboard.reports.making import make_report
from dashboard.reports.models import KeptReport, OwedMail
from ingest.models import Project
from ingest.read.runs import BadFilter

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Report).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A week as it is shown. Of a sent one ``sent_unix_ns`` is when, and ``later`` what later data would change."""

    report: Report
    sent_unix_ns: int | None
    later: list[str]


def show_report(project: Project, week: Week, now_ns: int, *, anew: bool = False) -> Shown:
    """As it was sent, if it was; else, or ``anew``, as the store tells it now. Raises BadFilter."""
    kept = KeptReport.objects.filter(project=project, week=str(week)).first()
    if kept is None or anew:
        return Shown(report=make_report(project, week, now_ns), sent_unix_ns=None, later=[])
    report = _decode(bytes(kept.body))
    try:
        later = what_changed(report, make_report(project, week, now_ns, like=report))
    except BadFilter:  # its days are not kept any more, so nothing can be compared
        later = []
    return Shown(report=report, sent_unix_ns=int(kept.made_at.timestamp() * 1e6) * 1000, later=later)


def keep_report(report: Report, project: Project, recipients: Sequence[str], host: str) -> tuple[KeptReport, int]:
    """The week's kept report and how many mails it owes anew. One that is kept already stays as it is, and each person
    is owed it once: whoever calls again, and whenever this ends, nothing is doubled."""
    with transaction.atomic():
        kept, _ = KeptReport.objects.get_or_create(
            project=project, week=report.week, defaults={"body": _encode(report)}
        )  # fmt: skip
        have = set(kept.mails.values_list("recipient", flat=True))
        owed = [
            OwedMail(report=kept, recipient=recipient, message_id=make_msgid(f"report-{report.week}", host))
            for recipient in dict.fromkeys(recipients)
            if recipient not in have
        ]
        OwedMail.objects.bulk_create(owed, ignore_conflicts=True)
    return kept, len(owed)


def read_kept(kept: KeptReport) -> Report:
    return _decode(bytes(kept.body))


def what_changed(sent: Report, now: Report) -> list[str]:
    """In words, which of the main figures would be others today."""
    if _figures(sent) == _figures(now):
        return []
    told = [("runs", figures.count(sent.runs_after), figures.count(now.runs_after))] if (
        sent.runs_after != now.runs_after
    ) else []  # fmt: skip
    for was, is_now in zip(sent.measures, now.measures, strict=True):
        for row, other in zip(was.rows, is_now.rows, strict=True):
            if row.change.after != other.change.after:
                told.append((f"{was.label.lower()} {row.share}", _time(row.change.after), _time(other.change.after)))
    seen = [f"{name} {before} to {after}" for name, before, after in told if str(before) != str(after)]
    return seen or ["less than its figures show"]


def _figures(report: Report) -> Any:
    """What is compared: runs to open are found within a time and may be others, and how an interval is worked out is no
    matter of data."""
    return _without_intervals(msgspec.to_builtins(replace(report, worth=[], whole=True, project_name="")))


def _without_intervals(told: Any) -> Any:
    if isinstance(told, dict):
        return {name: _without_intervals(value) for name, value in told.items() if name not in ("low", "high")}
    return [_without_intervals(value) for value in told] if isinstance(told, list | tuple) else told


def _time(ns: float | None) -> figures.Figure:
    return figures.duration(None if ns is None else round(ns))

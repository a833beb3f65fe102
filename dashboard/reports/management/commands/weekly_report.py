"""`manage.py weekly_report`: one project's week, now; printed, or kept and sent to its recipients."""

from __future__ import annotations

import time
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import BaseCommand, CommandError, CommandParser

from dashboard.reports.core.weeks import NoSuchWeek, last_whole_week, read_week
from dashboard.reports.forms.text import as_text
from dashboard.reports.models import Schedule
from dashboard.reports.schedules import ScheduleRefused, read_recipients
from dashboard.reports.sending import public_host, send_due
from dashboard.reports.storing import keep_report, show_report
from ingest.models import Project
from ingest.read.runs import BadFilter


class Command(BaseCommand):
    help = "Keep a week's report as it is now and send it to the project's recipients; with --dry-run only print it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", help="short name of the project (the first one, if there is only one)")
        parser.add_argument("--week", help="such as 2026-W40 (the last whole week)")
        parser.add_argument("--to", help="addresses with commas between, instead of the schedule's")
        parser.add_argument("--dry-run", action="store_true", help="print the report; keep and send nothing")

    def handle(self, *_: Any, **asked: Any) -> None:
        project = _project(asked["project"])
        now_ns = time.time_ns()
        try:
            week = read_week(asked["week"]) if asked["week"] else last_whole_week(now_ns, ZoneInfo(project.zone))
            recipients = read_recipients(asked["to"]) if asked["to"] else _recipients(project)
            report = show_report(project, week, now_ns).report
        except (NoSuchWeek, ScheduleRefused, BadFilter) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(as_text(report))
        if asked["dry_run"]:
            return
        if not report.whole:
            raise CommandError(f"{week} is not over yet, and what is kept stays; look at it with --dry-run")
        if not recipients:
            raise CommandError("nobody to send it to: give --to, or recipients on the reports page")
        _, owed = keep_report(report, project, recipients, public_host())
        sent = [mail for mail in send_due() if mail.report.week == str(week)]
        self.stdout.write(f"{owed} owed anew, {len(sent)} tried now; workers send the rest")


def _project(slug: str | None) -> Project:
    found = list(Project.objects.filter(**({"slug": slug} if slug else {})).order_by("pk")[:2])
    if len(found) != 1:
        raise CommandError(f"--project: expected one of {', '.join(Project.objects.values_list('slug', flat=True))}")
    return found[0]


def _recipients(project: Project) -> list[str]:
    schedule = Schedule.objects.filter(project=project).first()
    return list(schedule.recipients) if schedule else []

"""When a project's report goes out, and to whom. Weeks that ended before it was switched on are not sent by
themselves."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from email.utils import parseaddr
from zoneinfo import ZoneInfo

from django.utils import timezone

from dashboard.reports.core.weeks import Week, week_of
from dashboard.reports.models import Schedule
from ingest.models import Project

MOST_RECIPIENTS = 50
LATE_NS = 3 * 86_400 * 10**9  # a report that could not go out for so long is no news any more


class ScheduleRefused(Exception):
    """A schedule that cannot be; the message tells the reader why."""


def set_schedule(project: Project, *, enabled: bool, weekday: str, hour: str, recipients: str) -> Schedule:
    to = read_recipients(recipients)
    if enabled and not to:
        raise ScheduleRefused("Give at least one address to send the report to.")
    schedule, _ = Schedule.objects.get_or_create(project=project)
    if enabled and not schedule.enabled:
        schedule.since = timezone.now()
    schedule.enabled, schedule.recipients = enabled, to
    schedule.weekday, schedule.hour = _number(weekday, 6, "A weekday"), _number(hour, 23, "An hour")
    schedule.save()
    return schedule


def read_recipients(text: str) -> list[str]:
    """Addresses with commas or spaces between, each once. Raises ScheduleRefused."""
    found = list(dict.fromkeys(part for part in text.replace(";", ",").replace(" ", ",").split(",") if part))
    if len(found) > MOST_RECIPIENTS:
        raise ScheduleRefused(f"At most {MOST_RECIPIENTS} addresses.")
    for address in found:
        name, _, host = parseaddr(address)[1].rpartition("@")
        if parseaddr(address)[1] != address or not name or not host or not address.isprintable() or len(address) > 254:
            raise ScheduleRefused(f"{address[:60]!r} is no e-mail address; they are written like pm@example.org.")
    return found


def due_week(zone: ZoneInfo, weekday: int, hour: int, since_ns: int, now_ns: int) -> Week | None:
    """The last whole week, once its hour has come: at that weekday and hour of the week after it, by the zone's clock.
    None before, three days after, and for weeks that ended before ``since``."""
    this = week_of(now_ns, zone)
    date = this.days[weekday]
    # An hour that the clock skips comes when it has been skipped: folds and gaps are the zone's own rules.
    due = dt.datetime(date.year, date.month, date.day, hour, tzinfo=zone).astimezone(dt.UTC)
    due_ns = int(due.timestamp()) * 10**9
    week = this.shifted(-1)
    if not due_ns <= now_ns < due_ns + LATE_NS or week.range_ns(zone)[1] <= since_ns:
        return None
    return week


def due_schedules(now_ns: int) -> Sequence[tuple[Schedule, Week]]:
    """Whose hour has come and has not been kept yet is for the caller to see."""
    found = []
    for schedule in Schedule.objects.filter(enabled=True).select_related("project").order_by("pk"):
        since_ns = 0 if schedule.since is None else int(schedule.since.timestamp()) * 10**9
        week = due_week(ZoneInfo(schedule.project.zone), schedule.weekday, schedule.hour, since_ns, now_ns)
        if week is not None:
            found.append((schedule, week))
    return found


def _number(text: str, most: int, what: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) <= most):
        raise ScheduleRefused(f"{what} is a whole number from 0 to {most}.")
    return int(text)

"""Silences, mute times and what somebody has seen: made and ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db.models import Q

from dashboard.alerts.core.amounts import AmountRefused, read_duration
from dashboard.alerts.core.quiet import QuietRefused, read_matchers, read_weekly, write_matchers
from dashboard.alerts.models import Firing, Silence
from dashboard.projects import zones
from ingest.models import Project

MOST, LONGEST_NS = 500, 400 * 86_400 * 10**9
KNOWN = {"matchers", "for", "from_unix_ns", "to_unix_ns", "days", "from", "to", "zone", "comment", "name"}


def add_silence(
    project: Project, told: Mapping[str, Any], who: str, now_ns: int, row: Silence | None = None
) -> Silence:
    """A silence from now (or ``from_unix_ns``) ``for`` a time (or to ``to_unix_ns``); or a mute time on ``days`` from
    and to a time of day. Raises QuietRefused."""
    if unknown := sorted(set(told) - KNOWN):
        raise QuietRefused(f"a silence has no {', '.join(unknown)[:100]}; it takes {', '.join(sorted(KNOWN))}")
    if row is None and Silence.objects.filter(project=project).filter(_open(now_ns)).count() >= MOST:
        raise QuietRefused(f"a project has at most {MOST} silences at a time")
    row = row or Silence(project=project, made_by=who[:200], made_unix_ns=now_ns)
    row.matchers = write_matchers(read_matchers(str(told.get("matchers") or "")))
    row.comment, row.name = _text(told.get("comment")), _text(told.get("name"))[:200]
    if told.get("days"):
        zone = str(told.get("zone") or project.zone)
        if zone not in zones():
            raise QuietRefused(f"{zone[:60]!r} is no time zone; zones are called like Europe/Paris")
        days = told["days"].split(",") if isinstance(told["days"], str) else told["days"]
        row.weekly = asdict(read_weekly(days, told.get("from") or "00:00", told.get("to") or "24:00", zone))
    else:
        row.from_unix_ns, row.to_unix_ns = _span(told, now_ns)
    row.save()
    return row


def end_silence(row: Silence, now_ns: int) -> None:
    """It stays in the list of what was, so that nobody wonders why an alert was quiet."""
    if row.to_unix_ns is None or row.to_unix_ns > now_ns:
        row.to_unix_ns = now_ns
        row.save(update_fields=["to_unix_ns"])


def open_silences(project: Project, now_ns: int) -> list[Silence]:
    """Those that hold now or later, mute times after the rest."""
    found = Silence.objects.filter(project=project).filter(_open(now_ns))
    return sorted(found, key=lambda row: (row.weekly is not None, row.to_unix_ns or 0, row.pk))


def acknowledge(firing: Firing, who: str, now_ns: int) -> None:
    """Somebody has seen it: it is not told again, but for its end. The first one counts."""
    Firing.objects.filter(pk=firing.pk, acknowledged_unix_ns=None, resolved_unix_ns=None).update(
        acknowledged_by=who[:200], acknowledged_unix_ns=now_ns
    )


def _open(now_ns: int) -> Q:
    return Q(to_unix_ns=None) | Q(to_unix_ns__gt=now_ns)


def _span(told: Mapping[str, Any], now_ns: int) -> tuple[int, int]:
    from_ns = _instant(told.get("from_unix_ns"), now_ns)
    try:
        to_ns = from_ns + read_duration(told["for"]) if told.get("for") else _instant(told.get("to_unix_ns"), 0)
    except AmountRefused as error:
        raise QuietRefused(str(error)) from None
    if not from_ns < to_ns or to_ns <= now_ns or to_ns - from_ns > LONGEST_NS:
        raise QuietRefused("say for how long, such as 2h; it must end later than now and within 400 days")
    return from_ns, to_ns


def _instant(told: Any, usual: int) -> int:
    text = str(told if told is not None else "").strip()
    if not text:
        return usual
    if not (text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) < 1 << 62):
        raise QuietRefused("an instant is Unix nanoseconds")
    return int(text)


def _text(told: Any) -> str:
    text = str(told or "").strip()
    if len(text) > 400 or not text.isprintable():
        raise QuietRefused("a comment is at most 400 visible characters")
    return text

"""Rules as code: a project's objectives, rules and mute times as YAML, written for Git and read back the same.

Reading the same file again changes nothing. What a file brought and no longer lists is taken away; what somebody made
by hand stays. Channels hold secrets and are named only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml
from django.db import transaction

from dashboard.alerts.core.quiet import QuietRefused, read_matchers, write_matchers, write_minute
from dashboard.alerts.core.written import RuleRefused
from dashboard.alerts.models import AlertRule, Origin, Silence, SloRow
from dashboard.alerts.rules import remove_rule, remove_slo, save_rule, save_slo
from dashboard.alerts.silencing import add_silence, end_silence, open_silences
from ingest.models import Project

PARTS = ("objectives", "rules", "mute_times")
LARGEST = 1 << 20
MUTE_KEYS = {"name", "matchers", "days", "from", "to", "zone", "comment"}


class CodeRefused(ValueError):
    """A file cannot be taken; the text says what in it, and nothing of it was."""


@dataclass(slots=True, kw_only=True)
class Applied:
    """Names of what a file made, changed and took away, and how much it left as it was."""

    made: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    same: int = 0

    def note(self, name: str, before: Any, after: Any) -> None:
        if before is None:
            self.made.append(name)
        elif before != after:
            self.changed.append(name)
        else:
            self.same += 1


def export(project: Project) -> str:
    told = {
        "objectives": [row.body for row in SloRow.objects.filter(project=project).order_by("name")],
        "rules": [row.body for row in AlertRule.objects.filter(project=project).order_by("name")],
        "mute_times": [_mute(row) for row in _mutes(project)],
    }
    return yaml.safe_dump({key: value for key, value in told.items() if value}, sort_keys=False, allow_unicode=True,
                          width=100)  # fmt: skip


def apply(project: Project, text: str, now_ns: int) -> Applied:
    """Make the project's rules as a file says, all or none. Raises CodeRefused."""
    told = _read(text)
    applied = Applied()
    try:
        with transaction.atomic():
            _slos(project, told["objectives"], applied)
            _rules(project, told["rules"], applied, now_ns)
            _mute_times(project, told["mute_times"], applied, now_ns)
            _remove_slos(project, told["objectives"], applied)
    except (RuleRefused, QuietRefused) as error:
        raise CodeRefused(str(error)) from None
    return applied


def _read(text: str) -> dict[str, list[Mapping[str, Any]]]:
    if len(text) > LARGEST:
        raise CodeRefused(f"the file is larger than {LARGEST >> 20} MiB")
    try:
        told = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CodeRefused(f"this is no YAML: {' '.join(str(error).split())[:200]}") from None
    told = told or {}
    if not isinstance(told, Mapping) or not set(told) <= set(PARTS):
        raise CodeRefused(f"a file holds {', '.join(PARTS)}, each a list")
    found: dict[str, list[Mapping[str, Any]]] = {}
    for part in PARTS:
        listed = told.get(part) or []
        if not isinstance(listed, Sequence) or not all(isinstance(one, Mapping) and one.get("name") for one in listed):
            raise CodeRefused(f"{part} is a list, and each has a name")
        names = [str(one["name"]) for one in listed]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise CodeRefused(f"{part} lists {twice[0]} twice")
        found[part] = list(listed)
    return found


def _slos(project: Project, told: Sequence[Mapping[str, Any]], applied: Applied) -> None:
    rows = {row.name: row for row in SloRow.objects.filter(project=project)}
    for one in told:
        row = rows.get(str(one["name"]))
        before = row.body if row else None
        saved = save_slo(project, one, row=row, origin=Origin.FILE)
        applied.note(f"objective {saved.name}", before, saved.body)


def _rules(project: Project, told: Sequence[Mapping[str, Any]], applied: Applied, now_ns: int) -> None:
    rows = {row.name: row for row in AlertRule.objects.filter(project=project)}
    for one in told:
        row = rows.pop(str(one["name"]), None)
        before = row.body if row else None
        saved = save_rule(project, one, now_ns, row=row, origin=Origin.FILE)
        if saved.origin != Origin.FILE:  # it says the same, and is the file's from now on
            AlertRule.objects.filter(pk=saved.pk).update(origin=Origin.FILE)
        applied.note(f"rule {saved.name}", before, saved.body)
    for row in rows.values():
        if row.origin == Origin.FILE:
            remove_rule(row, now_ns)
            applied.removed.append(f"rule {row.name}")


def _remove_slos(project: Project, told: Sequence[Mapping[str, Any]], applied: Applied) -> None:
    listed = {str(one["name"]) for one in told}
    for row in SloRow.objects.filter(project=project, origin=Origin.FILE).exclude(name__in=listed):
        remove_slo(row)
        applied.removed.append(f"objective {row.name}")


def _mute_times(project: Project, told: Sequence[Mapping[str, Any]], applied: Applied, now_ns: int) -> None:
    rows = {row.name: row for row in open_silences(project, now_ns) if row.weekly and row.name}
    for one in told:
        if unknown := sorted(set(one) - MUTE_KEYS):
            raise CodeRefused(f"a mute time has no {', '.join(map(str, unknown))[:100]}")
        if not one.get("days"):
            raise CodeRefused(f"the mute time {one['name']} needs days")
        row = rows.pop(str(one["name"]), None)
        before = _mute(row) if row else None
        wanted = {**one, "name": str(one["name"])} | {key: _clock(one[key]) for key in ("from", "to") if key in one}
        saved = add_silence(project, wanted, "a file", now_ns, row=row)
        applied.note(f"mute time {saved.name}", before, _mute(saved))
    for row in rows.values():
        if row.made_by == "a file":
            end_silence(row, now_ns)
            applied.removed.append(f"mute time {row.name}")


def _mutes(project: Project) -> list[Silence]:
    found = Silence.objects.filter(project=project, to_unix_ns=None).exclude(weekly=None).exclude(name="")
    return list(found.order_by("name"))


def _mute(row: Silence) -> dict[str, Any]:
    weekly = row.weekly or {}
    told = {
        "name": row.name, "matchers": write_matchers(read_matchers(row.matchers)), "days": ", ".join(weekly["days"]),
        "from": write_minute(weekly["from_minute"]), "to": write_minute(weekly["to_minute"]), "zone": weekly["zone"],
    }  # fmt: skip
    return told | ({"comment": row.comment} if row.comment else {})


def _clock(told: Any) -> str:
    """YAML 1.1 takes 22:00 without quotes for a number in base 60."""
    return write_minute(told) if isinstance(told, int) and 0 <= told <= 24 * 60 else str(told)

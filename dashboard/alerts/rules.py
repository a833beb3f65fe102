"""Rules and objectives made, changed and taken away, by a page, the API or a file. Refusals raise RuleRefused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from dashboard.alerts.core.instants import next_due_ns
from dashboard.alerts.core.rule import SECOND_NS, Rule
from dashboard.alerts.core.standing import End
from dashboard.alerts.core.written import RuleRefused, read_rule, read_slo, write_rule, write_slo
from dashboard.alerts.models import AlertRule, Origin, SloRow
from dashboard.alerts.models.rule import slos_of
from dashboard.alerts.storing import end_firings
from ingest.models import Project

MOST_RULES, MOST_SLOS = 500, 100
# A change of these makes it another question, to which how alerts stood is no answer.
QUESTION = ("measure", "stat", "where", "group_by", "condition", "window_s", "labels", "name", "enabled")


def save_rule(
    project: Project, told: Mapping[str, Any], now_ns: int, *, row: AlertRule | None = None,
    origin: Origin = Origin.PAGE, evaluated_unix_ns: int | None = None,
) -> AlertRule:  # fmt: skip
    """Make a rule, or change ``row``. Nothing is written where it says what it said."""
    rule = read_rule(told, slos_of(project.pk))
    body = write_rule(rule)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        others = AlertRule.objects.filter(project=project)
        if others.filter(name=rule.name).exclude(pk=row.pk if row else None).exists():
            raise RuleRefused(f"there is a rule called {rule.name} already")
        if row is None:
            if others.count() >= MOST_RULES:
                raise RuleRefused(f"a project has at most {MOST_RULES} rules")
            evaluated_ns = now_ns if evaluated_unix_ns is None else evaluated_unix_ns
            return AlertRule.objects.create(
                project=project, name=rule.name, body=body, enabled=rule.enabled, origin=origin,
                created_unix_ns=now_ns, evaluated_unix_ns=evaluated_ns, due_unix_ns=next_due_ns(rule, evaluated_ns),
                blind_until_unix_ns=0,
            )  # fmt: skip
        return _change(row, rule, body, origin, now_ns)


def _change(row: AlertRule, rule: Rule, body: dict[str, Any], origin: Origin, now_ns: int) -> AlertRule:
    row = AlertRule.objects.select_for_update().get(pk=row.pk)
    if row.body == body:
        return row
    if _asks_another_question(row, rule):
        end_firings(row, End.RULE_CHANGED, now_ns)
        row.evaluated_unix_ns, row.ran_unix_ns = max(row.evaluated_unix_ns, now_ns - 60 * SECOND_NS), 0
    row.name, row.body, row.enabled, row.origin = rule.name, body, rule.enabled, origin
    row.revision += 1
    row.error = ""
    row.claimed_until_unix_ns, row.due_unix_ns = 0, next_due_ns(rule, row.evaluated_unix_ns)
    row.save()
    return row


def _asks_another_question(row: AlertRule, rule: Rule) -> bool:
    try:
        before = row.value()
    except RuleRefused:
        return True
    return any(getattr(before, name) != getattr(rule, name) for name in QUESTION)


def remove_rule(row: AlertRule, now_ns: int) -> None:
    """What it has firing is resolved, and stays in the history."""
    with transaction.atomic():
        AlertRule.objects.select_for_update().filter(pk=row.pk).first()
        end_firings(row, End.GONE, now_ns)
        row.delete()


def switch_rule(row: AlertRule, enabled: bool, now_ns: int) -> AlertRule:
    return save_rule(row.project, row.body | {"enabled": enabled}, now_ns, row=row)


def save_slo(
    project: Project, told: Mapping[str, Any], *, row: SloRow | None = None, origin: Origin = Origin.PAGE
) -> SloRow:
    """Make an objective, or change ``row``. Rules that burn its budget follow."""
    slo = read_slo(told)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        others = SloRow.objects.filter(project=project)
        if others.filter(name=slo.name).exclude(pk=row.pk if row else None).exists():
            raise RuleRefused(f"there is an objective called {slo.name} already")
        if row is None:
            if others.count() >= MOST_SLOS:
                raise RuleRefused(f"a project has at most {MOST_SLOS} objectives")
            row = SloRow(project=project)
        elif row.name != slo.name and (used := rules_on(row)):
            raise RuleRefused(f"{row.name} is named by the rule {used[0].name}; change that first")
        row.name, row.body, row.origin = slo.name, write_slo(slo), origin
        row.save()
        return row


def remove_slo(row: SloRow) -> None:
    if used := rules_on(row):
        raise RuleRefused(f"{row.name} is named by the rule {used[0].name}; take that away first")
    row.delete()


def rules_on(row: SloRow) -> list[AlertRule]:
    return list(AlertRule.objects.filter(project_id=row.project_id, body__burns__slo=row.name).order_by("name"))

"""Rules and objectives as they were written, and when a rule was last evaluated."""

from __future__ import annotations

from django.db import models

from dashboard.alerts.core.rule import Rule, Slo
from dashboard.alerts.core.written import read_rule, read_slo


class Origin(models.TextChoices):
    """Who wrote it last."""

    PAGE = "page"
    API = "api"
    FILE = "file"


class SloRow(models.Model):
    """An objective; ``body`` is its written form (``core/written.py``)."""

    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="slos")
    name = models.CharField(max_length=200)
    body = models.JSONField()
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.PAGE)

    class Meta:
        db_table = "alerts_slo"
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="slo_once")]

    def __str__(self) -> str:
        return self.name

    @property
    def value(self) -> Slo:
        return read_slo(self.body)


class AlertRule(models.Model):
    """A rule; ``body`` is its written form. Evaluation leaves off at ``evaluated_unix_ns``, an instant of the rule's
    grid; ``ran_unix_ns`` is when that was done. What came before ``blind_until_unix_ns`` may have been missed by this
    instance, which was down. ``revision`` counts changes, so that a change under way is not overwritten."""

    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="alert_rules")
    name = models.CharField(max_length=200)
    body = models.JSONField()
    enabled = models.BooleanField(default=True)
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.PAGE)
    revision = models.IntegerField(default=1)
    created_unix_ns = models.BigIntegerField()
    evaluated_unix_ns = models.BigIntegerField()
    ran_unix_ns = models.BigIntegerField(default=0)
    due_unix_ns = models.BigIntegerField(default=0)
    claimed_until_unix_ns = models.BigIntegerField(default=0)
    blind_until_unix_ns = models.BigIntegerField(default=0)
    error = models.CharField(max_length=400, blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="alert_rule_once")]

    def __str__(self) -> str:
        return self.name

    def value(self) -> Rule:
        """The rule, with the objectives of its project as they are now. Raises RuleRefused."""
        return read_rule(self.body, slos_of(self.project_id) if "burns" in self.body else {})


def slos_of(project_id: int) -> dict[str, Slo]:
    return {row.name: row.value for row in SloRow.objects.filter(project_id=project_id).order_by("name")}

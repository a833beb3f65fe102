"""How alerts stand, and when they fired."""

from __future__ import annotations

from django.db import models

from dashboard.alerts.core.standing import Cause, Standing, State


class Firing(models.Model):
    """One time that an alert fired, for good: what was announced is never rewritten, only added to. Without a rule the
    rule was taken away. ``was_missed``: it was over before this instance, which was down, could tell anyone."""

    id = models.UUIDField(primary_key=True)
    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="firings")
    rule = models.ForeignKey("alerts.AlertRule", on_delete=models.SET_NULL, null=True, related_name="firings")
    rule_name = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=16)
    labels = models.JSONField()
    severity = models.CharField(max_length=10)
    measure = models.CharField(max_length=60)
    stat = models.CharField(max_length=12)
    condition = models.CharField(max_length=10)
    cause = models.CharField(max_length=10)
    title = models.CharField(max_length=400)
    since_unix_ns = models.BigIntegerField()
    fired_unix_ns = models.BigIntegerField()
    resolved_unix_ns = models.BigIntegerField(null=True)
    end = models.CharField(max_length=16, blank=True, default="")
    value = models.FloatField(null=True)
    worst = models.FloatField(null=True)
    limit = models.FloatField(null=True)
    samples = models.BigIntegerField(default=0)
    window_s = models.IntegerField()
    was_missed = models.BooleanField(default=False)
    repeats = models.IntegerField(default=0)
    told_unix_ns = models.BigIntegerField(default=0)
    acknowledged_by = models.CharField(max_length=200, blank=True, default="")
    acknowledged_unix_ns = models.BigIntegerField(null=True)

    class Meta:
        indexes = [models.Index(fields=["project", "-fired_unix_ns"], name="firing_by_time")]

    def __str__(self) -> str:
        return self.title


class Alert(models.Model):
    """One rule and one value of its grouping, with the standing of the last evaluation."""

    rule = models.ForeignKey("alerts.AlertRule", on_delete=models.CASCADE, related_name="alerts")
    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="alerts")
    group = models.CharField(max_length=400, null=True)
    is_other = models.BooleanField(default=False)
    fingerprint = models.CharField(max_length=16)
    labels = models.JSONField()
    state = models.CharField(max_length=10, choices=[(state, state) for state in State])
    since_unix_ns = models.BigIntegerField()
    seen_unix_ns = models.BigIntegerField()
    breached_unix_ns = models.BigIntegerField(null=True)
    last_breach_unix_ns = models.BigIntegerField(null=True)
    untold_unix_ns = models.BigIntegerField(null=True)
    cause = models.CharField(max_length=10, null=True)
    value = models.FloatField(null=True)
    limit = models.FloatField(null=True)
    samples = models.BigIntegerField(default=0)
    why = models.CharField(max_length=400, blank=True, default="")
    firing = models.ForeignKey(Firing, on_delete=models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["rule", "fingerprint"], name="alert_once")]

    def __str__(self) -> str:
        return f"{self.rule_id} {self.fingerprint} {self.state}"

    @property
    def standing(self) -> Standing:
        return Standing(
            state=State(self.state), since_ns=self.since_unix_ns, seen_ns=self.seen_unix_ns,
            breached_ns=self.breached_unix_ns, last_breach_ns=self.last_breach_unix_ns, untold_ns=self.untold_unix_ns,
            cause=Cause(self.cause) if self.cause else None,
        )  # fmt: skip

    def stand(self, now: Standing) -> None:
        self.state, self.since_unix_ns, self.seen_unix_ns = now.state.value, now.since_ns, now.seen_ns
        self.breached_unix_ns, self.last_breach_unix_ns = now.breached_ns, now.last_breach_ns
        self.untold_unix_ns, self.cause = now.untold_ns, now.cause.value if now.cause else None

"""Silences and mute times."""

from __future__ import annotations

from django.db import models

from dashboard.alerts.core.quiet import Quiet, Weekly, read_matchers


class Silence(models.Model):
    """Alerts that fit ``matchers`` are not told from one moment to another or, with ``weekly``, again and again.
    Ending one sets ``to_unix_ns``; none is ever deleted, so that history can tell why nobody was told."""

    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="silences")
    matchers = models.TextField()
    from_unix_ns = models.BigIntegerField(null=True)
    to_unix_ns = models.BigIntegerField(null=True)
    weekly = models.JSONField(null=True)
    comment = models.CharField(max_length=400, blank=True, default="")
    made_by = models.CharField(max_length=200, blank=True, default="")
    made_unix_ns = models.BigIntegerField()
    name = models.CharField(max_length=200, blank=True, default="")

    def __str__(self) -> str:
        return self.matchers

    @property
    def value(self) -> Quiet:
        return Quiet(
            id=self.pk, matchers=read_matchers(self.matchers), from_ns=self.from_unix_ns, to_ns=self.to_unix_ns,
            weekly=Weekly(**self.weekly | {"days": tuple(self.weekly["days"])}) if self.weekly else None,
        )  # fmt: skip

"""Deploys that somebody told of. Those that spans tell of are derived when they are asked for."""

from __future__ import annotations

from django.db import models

from ingest.models.project import Project


class ToldDeploy(models.Model):
    """A version of a service went live. Telling the same twice tells it once."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="deploys")
    service = models.CharField(max_length=200)
    version = models.CharField(max_length=200)
    at_unix_ns = models.BigIntegerField()

    class Meta:
        db_table = "ingest_deploy"
        constraints = [
            models.UniqueConstraint(fields=["project", "at_unix_ns", "service", "version"], name="deploy_once")
        ]

    def __str__(self) -> str:
        return f"{self.service} {self.version}"

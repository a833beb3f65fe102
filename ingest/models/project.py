"""Who owns telemetry (a project) and who may send it (an ingest key)."""

from __future__ import annotations

import hashlib
import secrets

from django.db import models


class Project(models.Model):
    """A team's runs. Its zone decides what "a day" means in its rollups and reports.

    ``spans_per_s`` (spans and log records) and ``bytes_per_day`` (uncompressed; a UTC day) limit what it may send,
    None being no limit. Without ``keep_payload`` no prompt, completion, tool argument or result is stored.
    """

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=200)
    zone = models.CharField(max_length=64, default="UTC")
    created_at = models.DateTimeField(auto_now_add=True)
    spans_per_s = models.PositiveIntegerField(null=True, blank=True)
    bytes_per_day = models.PositiveBigIntegerField(null=True, blank=True)
    keep_payload = models.BooleanField(default=True, db_default=True)

    def __str__(self) -> str:
        return self.slug


class ProjectDay(models.Model):
    """How many bytes a project with a daily limit has sent on a UTC day; all receivers add to it."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    bytes = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "day"], name="project_day_once")]


class IngestKey(models.Model):
    """A key that may send telemetry into one project and read nothing. Only its digest is kept."""

    PREFIX = "sxi_"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="ingest_keys")
    name = models.CharField(max_length=200)
    hint = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    @classmethod
    def issue(cls, project: Project, name: str) -> tuple[IngestKey, str]:
        """The key's row and its secret, which is told once and never stored."""
        secret, hint, digest = new_secret(cls.PREFIX)
        return cls.objects.create(project=project, name=name, hint=hint, digest=digest), secret

    def __str__(self) -> str:
        return f"{self.name} ({self.hint}…)"


def new_secret(prefix: str) -> tuple[str, str, str]:
    """A fresh secret, the few characters that may be shown later, and its digest."""
    secret = prefix + secrets.token_urlsafe(32)
    return secret, secret[: len(prefix) + 4], secret_digest(secret)


def secret_digest(secret: str) -> str:
    """SHA-256 in hex. Enough for 256 random bits, which no dictionary holds; no slow hash on the hot path."""
    return hashlib.sha256(secret.encode()).hexdigest()

"""Engines that are scraped, and what they told: a row for each scrape, its numbers in one array."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CompositePrimaryKey


class Origin(models.TextChoices):
    """Who made a target: those of the file are changed in the file, those of OTLP tell of themselves."""

    PAGE = "page"
    API = "api"
    FILE = "file"
    OTLP = "otlp"


class EngineTarget(models.Model):
    """An engine whose page is fetched every ``interval_ms``, and how that went last.

    ``credentials`` are encrypted (``ingest/engines/credentials.py``). ``stretch`` counts breaks in its samples: between
    two of the same stretch nothing was reset, missed or renamed. No index on times: they change at every scrape.
    """

    project = models.ForeignKey("ingest.Project", on_delete=models.CASCADE, related_name="engine_targets")
    name = models.CharField(max_length=200)
    url = models.CharField(max_length=2000, blank=True, default="")
    kind = models.CharField(max_length=20, default="auto")
    labels = models.JSONField(default=dict, blank=True)
    interval_ms = models.IntegerField(default=5_000)
    timeout_ms = models.IntegerField(default=4_000)
    credentials = models.BinaryField(null=True, blank=True)
    tls = models.JSONField(default=dict, blank=True)
    enabled = models.BooleanField(default=True)
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.PAGE)
    created_at = models.DateTimeField(auto_now_add=True)

    due_unix_ns = models.BigIntegerField(default=0)
    claimed_until_unix_ns = models.BigIntegerField(default=0)
    stretch = models.IntegerField(default=0)
    seen_kind = models.CharField(max_length=20, blank=True, default="")
    seen_models = ArrayField(models.TextField(), default=list, blank=True)
    sample_unix_ns = models.BigIntegerField(null=True, blank=True)
    scraped_unix_ns = models.BigIntegerField(null=True, blank=True)
    failing_since_unix_ns = models.BigIntegerField(null=True, blank=True)
    failures = models.IntegerField(default=0)
    reason = models.CharField(max_length=40, blank=True, default="")
    detail = models.CharField(max_length=400, blank=True, default="")

    class Meta:
        db_table = "ingest_engine_target"
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="engine_target_once")]

    def __str__(self) -> str:
        return self.name


class EngineLayout(models.Model):
    """Where each figure stands in the arrays of samples (``ingest/engines/layout.py``); shared by all alike."""

    id = models.AutoField(primary_key=True)
    digest = models.BinaryField(max_length=16, unique=True)
    body = models.TextField()

    class Meta:
        db_table = "ingest_engine_layout"


class Scrape(models.Model):
    """A scrape that gave a sample. ``body`` is its array, as float64 under zstd; ``breaks`` why a stretch begins.

    ``running``, ``waiting`` and ``kv_usage`` are the page's sums (its highest, of the last), for queries.
    """

    pk = CompositePrimaryKey("target_id", "at_unix_ns", "day")
    at_unix_ns = models.BigIntegerField()
    day = models.DateField()
    project_id = models.IntegerField()
    target_id = models.IntegerField()
    layout_id = models.IntegerField()
    stretch = models.IntegerField()
    took_ms = models.IntegerField()
    running = models.FloatField(null=True)
    waiting = models.FloatField(null=True)
    kv_usage = models.FloatField(null=True)
    breaks = models.CharField(max_length=8, default="")
    body = models.BinaryField()

    class Meta:
        abstract = True


class EngineSample(Scrape):
    """Every scrape of the last days."""

    class Meta:
        db_table = "ingest_engine_sample"


class EngineMinute(Scrape):
    """Of older ones the last of each minute, and those on both sides of a break."""

    class Meta:
        db_table = "ingest_engine_minute"


class EngineFailure(models.Model):
    """A scrape that gave none, and why."""

    pk = CompositePrimaryKey("target_id", "at_unix_ns", "day")
    at_unix_ns = models.BigIntegerField()
    day = models.DateField()
    project_id = models.IntegerField()
    target_id = models.IntegerField()
    took_ms = models.IntegerField()
    reason = models.CharField(max_length=40)
    detail = models.CharField(max_length=400)

    class Meta:
        db_table = "ingest_engine_failure"

"""What processes say of themselves, and figures of settled runs, which count up for ever."""

from __future__ import annotations

from django.db import models
from django.db.models import CompositePrimaryKey


class Process(models.Model):
    """One process, as of ``seen_unix_ns`` by the database's clock. ``samples`` are its counts since it started,
    ``recent`` those of its last ``recent_ns``. The counts of ended processes are added to one row, FOLDED."""

    FOLDED = "folded"

    id = models.CharField(max_length=32, primary_key=True)
    role = models.CharField(max_length=20)
    host = models.CharField(max_length=200)
    pid = models.IntegerField()
    started_unix_ns = models.BigIntegerField()
    seen_unix_ns = models.BigIntegerField()
    ended = models.BooleanField(default=False)
    rss_bytes = models.BigIntegerField(null=True)
    cpu_ns = models.BigIntegerField(null=True)
    samples = models.JSONField(default=dict)
    recent = models.JSONField(default=dict)
    recent_ns = models.BigIntegerField(default=0)

    class Meta:
        db_table = "ingest_process"


class SettledCount(models.Model):
    """How many settled runs or calls had a value in one bin of one of the exported histograms, and its sum."""

    pk = CompositePrimaryKey("project_id", "measure", "service", "model", "bin")
    project_id = models.IntegerField()
    measure = models.CharField(max_length=40)
    service = models.TextField()
    model = models.TextField()
    bin = models.SmallIntegerField()
    count = models.BigIntegerField()
    sum_ns = models.DecimalField(max_digits=38, decimal_places=0)

    class Meta:
        db_table = "ingest_settled_count"


class SettledUntil(models.Model):
    """Up to which time of settling runs have been counted. One row."""

    id = models.SmallIntegerField(primary_key=True)
    counted_unix_ns = models.BigIntegerField()

    class Meta:
        db_table = "ingest_settled_until"

"""Numbers over time, summed ahead. Always derivable from runs, calls and tools as long as these are kept."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import CompositePrimaryKey


class RollupDelta(models.Model):
    """What one pass of a worker adds (or takes back), written in its transaction and folded soon after; minutes are
    whole ones since 1970. ``body`` is packed by ``ingest/rollups/packing.py``. A ``counted`` one holds cells: several
    passes' values, binned together while they wait to be folded."""

    id = models.BigAutoField(primary_key=True)
    project_id = models.IntegerField()
    first_minute = models.BigIntegerField()
    last_minute = models.BigIntegerField()
    counted = models.BooleanField(default=False, db_default=False)
    body = models.BinaryField()

    class Meta:
        db_table = "ingest_rollup_delta"


class Rollup(models.Model):
    """One cell: what ended in a step of time, of a kind, under a key."""

    pk = CompositePrimaryKey("project_id", "step", "kind", "start_unix_ns", "key_id")
    start_unix_ns = models.BigIntegerField()
    project_id = models.IntegerField()
    key_id = models.IntegerField()
    step = models.SmallIntegerField()
    kind = models.SmallIntegerField()
    body = models.BinaryField()

    class Meta:
        db_table = "ingest_rollup"


class RollupKey(models.Model):
    """A key's number in its project; ``fields`` is JSON, as ``Key`` orders it."""

    id = models.AutoField(primary_key=True)
    project_id = models.IntegerField()
    digest = models.BinaryField(max_length=16)
    fields = models.TextField()

    class Meta:
        db_table = "ingest_rollup_key"
        constraints = [models.UniqueConstraint(fields=["project_id", "digest"], name="rollup_key_once")]


class RollupAdmitted(models.Model):
    """Which keys a UTC day has of a kind, first come. Once ``full``, it takes no more, so that whatever was counted
    as beyond the bound is also taken back from there."""

    pk = CompositePrimaryKey("project_id", "day", "kind")
    project_id = models.IntegerField()
    day = models.BigIntegerField()
    kind = models.SmallIntegerField()
    key_ids = ArrayField(models.IntegerField())
    full = models.BooleanField(default=False)

    class Meta:
        db_table = "ingest_rollup_admitted"


class RollupZone(models.Model):
    """By which zone a project's days were summed; where it is not the project's any more they are summed anew."""

    project_id = models.IntegerField(primary_key=True)
    zone = models.CharField(max_length=64)

    class Meta:
        db_table = "ingest_rollup_zone"


class RollupGone(models.Model):
    """Up to which UTC day something is kept no more: by the numbers of ``ingest.rollups.horizon.Gone`` runs (by their
    day of receipt), minutes, and hours with quarter-hours."""

    id = models.SmallIntegerField(primary_key=True)
    day = models.DateField()

    class Meta:
        db_table = "ingest_rollup_gone"

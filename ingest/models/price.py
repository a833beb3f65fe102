"""What models cost, as it was last written: by a project's administrators, or for all by the instance's file."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Coalesce

from ingest.models.project import Project


class PriceList(models.Model):
    """A project's own prices, or without a project those for all, as ``ingest/price_list.py`` writes them."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, null=True, related_name="price_lists")
    currency = models.CharField(max_length=3)
    prices = models.JSONField()

    class Meta:
        db_table = "ingest_price_list"
        constraints = [models.UniqueConstraint(Coalesce("project", 0), name="price_list_once")]

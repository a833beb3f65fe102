from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from ingest.models import Project
from ingest.partitions import ensure_partitions
from ingest.price_list import PricesRefused
from ingest.prices import load_file
from ingest.rollups.verifying import count_once


class Command(BaseCommand):
    help = "Make what a running instance needs beyond its schema: a first project, partitions, and the file's prices."

    def handle(self, *_args: Any, **_options: Any) -> None:
        ensure_partitions(time.time_ns())
        Project.objects.get_or_create(slug="default", defaults={"name": "Default"})
        try:
            load_file(settings.SIXSTAGE_PRICES_FILE)
        except PricesRefused as refused:
            raise CommandError(f"SIXSTAGE_PRICES_FILE: {refused}") from refused
        if count_once():
            self.stdout.write("counted what was stored before there were rollups")

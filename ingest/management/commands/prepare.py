from __future__ import annotations

import time
from typing import Any

from django.core.management.base import BaseCommand

from ingest.models import Project
from ingest.partitions import ensure_partitions
from ingest.rollups.verifying import count_once


class Command(BaseCommand):
    help = "Make what a running instance needs beyond its schema: a first project, and partitions for the days ahead."

    def handle(self, *_args: Any, **_options: Any) -> None:
        ensure_partitions(time.time_ns())
        Project.objects.get_or_create(slug="default", defaults={"name": "Default"})
        if count_once():
            self.stdout.write("counted what was stored before there were rollups")

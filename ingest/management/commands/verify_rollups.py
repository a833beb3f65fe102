from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ingest.rollups.verifying import verify

SHOWN = 50


class Command(BaseCommand):
    help = (
        "Count all stored runs, calls and tools again and compare with the rollups. Prints what differs, and ends "
        "with 1 if anything does. Days whose runs were dropped by retention are not compared."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--repair", action="store_true", help="put right what differs; then it ends with 0")
        parser.add_argument("--days", type=int, help="only the newest so many UTC days with anything in them")

    def handle(self, *_args: Any, **options: Any) -> None:
        number = 0
        for number, difference in enumerate(verify(options["repair"], options["days"]), start=1):
            if number <= SHOWN:
                self.stdout.write(str(difference))
        if number > SHOWN:
            self.stdout.write(f"… and {number - SHOWN} more")
        self.stdout.write(f"{number} differences" if number else "rollups are what the rows add up to")
        if number and not options["repair"]:
            sys.exit(1)
